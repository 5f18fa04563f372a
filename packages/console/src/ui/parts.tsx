import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Agent } from "../types.ts";
import { attempt, NoticeList, openDialogs } from "./toast.tsx";

const COPIED_MS = 2_000;

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children && <div class="muted">{children}</div>}
    </div>
  );
}

/** Shows a failed read. The data of an earlier read stays visible below it. */
export function Problem({ error, retry }: { error: string | null; retry?: () => void }) {
  if (error === null) return null;
  return (
    <div class="problem" role="alert">
      <span dir="auto">{error}</span>
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Loading({ what }: { what: string }) {
  return (
    <p class="loading muted" role="status">
      Loading {what} …
    </p>
  );
}

export function CopyButton({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    const isCopied = await attempt("Nothing was copied", async () => {
      // Browsers offer the clipboard only to pages that came over https or from the same machine.
      if (!isSecureContext)
        throw new Error("The browser copies only from https addresses. Select the text and copy it yourself.");
      await navigator.clipboard.writeText(text);
    });
    if (!isCopied) return;
    setCopied(true);
    setTimeout(() => setCopied(false), COPIED_MS);
  };
  return (
    <button type="button" class="small" aria-label={`Copy ${label}`} onClick={copy}>
      {copied ? "Copied" : "Copy"}
    </button>
  );
}

/** Shows a text to copy, such as a command. */
export function Snippet({ label, text }: { label: string; text: string }) {
  return (
    <div class="snippet">
      <div class="snippet-head">
        <span>{label}</span>
        <CopyButton text={text} label={label} />
      </div>
      <pre tabIndex={0} aria-label={label}>
        {text}
      </pre>
    </div>
  );
}

const PRESENT: readonly Agent["status"][] = ["online", "active", "ready"];
/** Checks whether an agent is present. An agent that was never seen counts as absent, even if its status says otherwise. */
export const isPresent = (agent: Agent): boolean => agent.last_seen_at !== null && PRESENT.includes(agent.status);

const HUES = 12;

function hueOf(text: string): number {
  let sum = 0;
  for (const letter of text) sum = (sum * 31 + letter.codePointAt(0)!) % HUES;
  return sum;
}

const initialOf = (name: string): string => Array.from(name.trim())[0]?.toUpperCase() ?? "?";

/** Shows the first letter of a name, and whether the agent is present. */
export function Avatar({ name, agent }: { name: string; agent?: Agent | undefined }) {
  const presence = agent ? (isPresent(agent) ? "present" : "absent") : "";
  return (
    <span class={`avatar hue-${hueOf(name)} ${presence}`} aria-hidden="true">
      {initialOf(name)}
    </span>
  );
}

/**
 * Shows a modal window. The browser keeps the focus inside, so everything outside, including notices, can neither be focused nor
 * read aloud.
 */
export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ComponentChildren }) {
  const element = useRef<HTMLDialogElement>(null);
  // A layout effect, because a key may be pressed before an ordinary effect has run.
  useLayoutEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    openDialogs.value += 1;
    return () => {
      openDialogs.value -= 1;
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.preventDefault();
        event.stopPropagation();
        onClose();
      }}
      onClick={(event) => event.target === element.current && onClose()}
    >
      <div class="dialog-body">
        <header class="dialog-head">
          <h2>{title}</h2>
          <button type="button" class="plain icon" aria-label="Close" onClick={onClose}>
            ×
          </button>
        </header>
        {children}
      </div>
      <NoticeList />
    </dialog>
  );
}
