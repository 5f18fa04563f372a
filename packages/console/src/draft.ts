import { useEffect, useState } from "preact/hooks";

const PREFIX = "board.draft.";
const keyOf = (name: string): string => `${PREFIX}${name}`;

/** Returns what is typed under a name at this moment, which may be newer than what a component was drawn with. */
export const readDraft = (name: string): string => sessionStorage.getItem(keyOf(name)) ?? "";

/** Removes all drafts of this tab, so that the next person who signs in here does not find them. */
export function removeDrafts(): void {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(PREFIX)) sessionStorage.removeItem(key);
}

/** Stores text that was typed but not sent. The text survives a reload and a sign-in, but only in this tab. */
export function useDraft(name: string): [string, (text: string) => void] {
  const key = keyOf(name);
  const [text, setText] = useState(() => readDraft(name));
  useEffect(() => setText(readDraft(name)), [key]);
  return [
    text,
    (next) => {
      setText(next);
      if (next) sessionStorage.setItem(key, next);
      else sessionStorage.removeItem(key);
    },
  ];
}
