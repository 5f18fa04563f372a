import { render } from "preact";
import { useToken } from "./api.ts";
import { App } from "./app.tsx";
import { startLive } from "./live.ts";
import { replace } from "./route.ts";
import "./theme.ts";
import "./styles/base.css";
import "./styles/shell.css";
import "./styles/board.css";
import "./styles/card.css";
import "./styles/story.css";
import "./styles/views.css";

/** The link that a local server prints signs in. The token leaves the address bar before anything else happens. */
const fromLink = new URLSearchParams(location.hash.slice(1)).get("token");
if (fromLink) {
  replace("/");
  useToken(fromLink);
}
startLive();
render(<App />, document.querySelector("#app")!);
