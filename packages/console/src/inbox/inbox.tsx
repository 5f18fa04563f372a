import { toView } from "../route.ts";
import { Items } from "./items.tsx";
import "../styles/inbox.css";

/** The person's notifications. How the person is notified is set on the page You. */
export function InboxPage() {
  return (
    <main class="view">
      <div class="view-intro">
        <h1>Inbox</h1>
        <a href={toView("personal", "notifications")}>How you are notified</a>
      </div>
      <Items />
    </main>
  );
}
