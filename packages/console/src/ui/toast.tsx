import { signal } from "@preact/signals";
import { messageOf } from "../api.ts";

interface Notice {
  id: number;
  kind: "error" | "info";
  title: string;
  text: string;
}

const MAX_NOTICES = 3;
const INFO_MS = 5_000;

const notices = signal<readonly Notice[]>([]);
/** A text that screen readers announce without a visible notice. */
const announcement = signal("");
let last = 0;

const dismiss = (id: number) => (notices.value = notices.value.filter((notice) => notice.id !== id));

function show(kind: Notice["kind"], title: string, text: string): void {
  const id = ++last;
  notices.value = [...notices.value, { id, kind, title, text }].slice(-MAX_NOTICES);
  if (kind === "info") setTimeout(() => dismiss(id), INFO_MS);
}

/** Shows the reason for a failure, as the API gives it. The notice stays until it is closed. */
export const showError = (title: string, error: unknown): void => show("error", title, messageOf(error));
export const showInfo = (text: string): void => show("info", text, "");
export const announce = (text: string): void => void (announcement.value = text);

/** Runs an action and shows an error if it fails. Returns whether the action succeeded. */
export async function attempt(title: string, act: () => Promise<unknown>): Promise<boolean> {
  try {
    await act();
    return true;
  } catch (error) {
    showError(title, error);
    return false;
  }
}

/** Number of open modal windows. While a window is open, it shows the notices, because the page behind it is inert. */
export const openDialogs = signal(0);

export function NoticeList() {
  return (
    <div class="notices" role="region" aria-label="Notices" aria-live="polite">
      {notices.value.map(({ id, kind, title, text }) => (
        <div key={id} class={`notice ${kind}`} role={kind === "error" ? "alert" : undefined}>
          <div>
            <strong>{title}</strong>
            {text && <p dir="auto">{text}</p>}
          </div>
          <button type="button" class="plain icon" aria-label="Close this notice" onClick={() => dismiss(id)}>
            ×
          </button>
        </div>
      ))}
    </div>
  );
}

export function Notices() {
  return (
    <>
      <div class="visually-hidden" role="status">
        {announcement.value}
      </div>
      {openDialogs.value === 0 && <NoticeList />}
    </>
  );
}
