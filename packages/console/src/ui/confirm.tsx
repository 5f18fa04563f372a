import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { attempt } from "./toast.tsx";

interface ConfirmProps {
  /** The button that asks. */
  label: string;
  /** What happens, in a sentence. */
  question: ComponentChildren;
  /** The button that acts. */
  confirm: string;
  /** The title of the notice when the service refuses. */
  failure: string;
  act: () => Promise<unknown>;
  onDone?: () => void;
  /** A text that must be typed first, if the action affects everybody and cannot be undone. */
  typed?: string;
}

/** An action that cannot be undone takes two clicks, and the second button says what it does. */
export function Confirm({ label, question, confirm, failure, act, onDone, typed }: ConfirmProps) {
  const [isAsking, setAsking] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [text, setText] = useState("");
  if (!isAsking)
    return (
      <button type="button" class="plain danger-text" onClick={() => setAsking(true)}>
        {label}
      </button>
    );
  const run = async () => {
    setBusy(true);
    const isDone = await attempt(failure, act);
    setBusy(false);
    if (!isDone) return;
    setAsking(false);
    onDone?.();
  };
  return (
    <div class="confirm">
      <span>{question}</span>
      {typed !== undefined && (
        <input
          aria-label={`Type ${typed} to go on`}
          placeholder={typed}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      )}
      <button type="button" class="danger" disabled={isBusy || (typed !== undefined && text !== typed)} onClick={run}>
        {confirm}
      </button>
      <button type="button" onClick={() => setAsking(false)}>
        Cancel
      </button>
    </div>
  );
}
