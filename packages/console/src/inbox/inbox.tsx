import { toView } from "../route.ts";
import { Items } from "./items.tsx";
import "../styles/inbox.css";

/** What the person was notified. How they are notified is a part of the page You. */
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
