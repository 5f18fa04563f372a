import { toView } from "../route.ts";
import { Items } from "./items.tsx";
import "../styles/inbox.css";

/** Shows the person's notifications. How they are delivered is set on the "You" page. */
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
