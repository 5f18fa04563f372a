import { useEffect, useState } from "preact/hooks";

/** Stores text that was typed but not sent. The text survives a reload and a sign-in, but only in this tab. */
export function useDraft(name: string): [string, (text: string) => void] {
  const key = `board.draft.${name}`;
  const [text, setText] = useState(() => sessionStorage.getItem(key) ?? "");
  useEffect(() => setText(sessionStorage.getItem(key) ?? ""), [key]);
  return [
    text,
    (next) => {
      setText(next);
      if (next) sessionStorage.setItem(key, next);
      else sessionStorage.removeItem(key);
    },
  ];
}
