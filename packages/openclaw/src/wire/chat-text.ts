import { type ChatContent, HOST_COMMANDS, type HostCommand } from "@board/core/values/chat-content";
import { withoutBrackets } from "@board/core/values/text";

/** The command that a text consists of, in any case and with only spaces around it; null for any other text. */
export function parseHostCommand(text: string): HostCommand | null {
  const [, word] = /^ *(\/[a-z]{1,10}) *$/i.exec(text.length > 100 ? "" : text) ?? [];
  return HOST_COMMANDS.find((command) => command === word?.toLowerCase()) ?? null;
}

/** The text of a chat.send. Every message passes here, so that no text of others can give a host an order. */
export const toChatText = (content: ChatContent): string => content.command ?? disarm(content.message);

/** Word joiner: invisible, no white space, and kept by hosts. */
const JOINER = "\u2060";

/** Characters that hosts drop from messages. One between a space and a slash would hide that the slash begins a word. */
// oxlint-disable-next-line no-control-regex -- exactly these are dropped
const DROPPED = /[\0-\x08\x0B\x0C\x0E-\x1F\x7F]/g;

/**
 * A slash that begins a word: directives (`/model x -g`) are obeyed wherever they stand. Hosts skip a sender's name with a
 * colon and text in brackets, and older ones read a written-out \n as a line break. `/api/v1/` is this service's own
 * interface, no directive: names end at white space or a colon. Agents copy these paths, so they stay as they are.
 */
const DIRECTIVE = /(?<=^|[\s\]:]|\\[nr])\/(?=[^\s/])(?!api\/v1\/)/g;
/** Runs a command of the host's system when it begins a message, so that no word may begin with it; `!=` is no command. */
const SHELL_COMMAND = /(?<=^|[\s\]:]|\\[nr])!(?!=\s)/g;
/** Makes the agent use a skill, wherever it stands. Names without a lower-case letter are variables of a shell. */
const SKILL = /\$(?=[-\w:]*[a-z])/g;
/** To older hosts the message begins after this text. */
const MESSAGE_START = /\[(?=Current message - respond to this\])/g;

/**
 * Takes the power from everything in a text that a host would obey (docs/reference/gateways.md#orders-to-hosts). Only
 * invisible characters are added, and only the host's own dropping and composing of characters is done ahead of it.
 */
function disarm(text: string): string {
  const received = text.normalize("NFC").replace(DROPPED, "\uFFFD");
  const disarmed = received
    .replace(DIRECTIVE, `${JOINER}/`)
    .replace(SHELL_COMMAND, `${JOINER}!`)
    .replace(SKILL, `$$${JOINER}`)
    .replace(MESSAGE_START, `[${JOINER}`);
  return asksToStop(received) ? disarmed + JOINER : disarmed;
}

/** Words of the phrases that abort the agent's run when they are the whole message; the agent does not get them. */
const STOP_WORDS = new Set(
  `stop stopp abort esc exit halt interrupt wait please openclaw action current run agent the don t dont do not anything
  doing that detente deten detén arrete arrête pare anhalten aufhören hoer auf стоп остановись останови остановить прекрати
  停止 停下来 暂停 やめて 止めて रुको توقف`.split(/\s+/),
);

const wordsOf = (text = ""): string[] => text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
const areStopWords = (words: readonly string[]): boolean => words.every((word) => STOP_WORDS.has(word));

/** Whether a text has no other words than those, apart from brackets and senders' names that hosts skip. */
function asksToStop(text: string): boolean {
  const words = withoutBrackets(text)
    .split(/[\n\r\u2028\u2029]|\\[nr]/)
    .flatMap((line) => {
      const parts = line.split(":");
      const last = wordsOf(parts.pop());
      if (last.length > 0) return last;
      // Words before a colon at the end are a sender's name, unless they say to stop.
      const before = wordsOf(parts.findLast((part) => /\p{L}/u.test(part)));
      return areStopWords(before) ? before : [];
    });
  return words.length > 0 && areStopWords(words);
}
