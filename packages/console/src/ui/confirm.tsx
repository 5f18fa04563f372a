import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { attempt } from "./toast.tsx";

interface ConfirmProps {
  /** The text of the first button, which shows the question. */
  label: string;
  /** A sentence that says what the action does. */
  question: ComponentChildren;
  /** The text of the second button, which performs the action. */
  confirm: string;
  /** The title of the notice that is shown if the action fails. */
  failure: string;
  act: () => Promise<unknown>;
  onDone?: () => void;
  /** A text that the person must type first, for an action that affects everybody and cannot be undone. */
  typed?: string;
}

/**
 * Performs an action that cannot be undone after two clicks. The second button says what the action does. The focus goes to the safe
 * choice, so that pressing Enter twice changes nothing, and then back.
 */
export function Confirm({ label, question, confirm, failure, act, onDone, typed }: ConfirmProps) {
  const [isAsking, setAsking] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [text, setText] = useState("");
  const [start, input, cancel] = [
    useRef<HTMLButtonElement>(null),
    useRef<HTMLInputElement>(null),
    useRef<HTMLButtonElement>(null),
  ];
  const wasAsking = useRef(false);
  useLayoutEffect(() => {
    if (wasAsking.current !== isAsking) (isAsking ? (input.current ?? cancel.current) : start.current)?.focus();
    wasAsking.current = isAsking;
  }, [isAsking]);
  if (!isAsking)
    return (
      <button ref={start} type="button" class="plain danger-text" onClick={() => setAsking(true)}>
        {label}
      </button>
    );
  const run = async () => {
    setBusy(true);
    const isDone = await attempt(failure, act);
    setBusy(false);
    if (!isDone) return;
    stop();
    onDone?.();
  };
  const stop = () => {
    setAsking(false);
    setText("");
  };
  return (
    <div class="confirm">
      <span>{question}</span>
      {typed !== undefined && (
        <input
          ref={input}
          aria-label={`Type ${typed} to go on`}
          placeholder={typed}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      )}
      <button type="button" class="danger" disabled={isBusy || (typed !== undefined && text !== typed)} onClick={run}>
        {confirm}
      </button>
      <button ref={cancel} type="button" onClick={stop}>
        Cancel
      </button>
    </div>
  );
}
