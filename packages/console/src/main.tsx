import { render } from "preact";
import { App } from "./app.tsx";
import { followWorker } from "./inbox/browser.ts";
import { watchUnread } from "./inbox/unread.ts";
import { startLive } from "./live.ts";
import { followSignInLinks } from "./sign-in-link.ts";
import "./theme.ts";
import "./styles/base.css";
import "./styles/shell.css";
import "./styles/board.css";
import "./styles/card.css";
import "./styles/story.css";
import "./styles/views.css";

followSignInLinks();
startLive();
watchUnread();
followWorker();
render(<App />, document.querySelector("#app")!);
