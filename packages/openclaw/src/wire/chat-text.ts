import { type ChatContent, HOST_COMMANDS, type HostCommand } from "@board/core/values/chat-content";
import { withoutBrackets } from "@board/core/values/text";

/** Returns the command if the text is nothing but a command, in any case and with spaces around it; null for any other text. */
export function parseHostCommand(text: string): HostCommand | null {
  const [, word] = /^ *(\/[a-z]{1,10}) *$/i.exec(text.length > 100 ? "" : text) ?? [];
  return HOST_COMMANDS.find((command) => command === word?.toLowerCase()) ?? null;
}

/** Converts content to the text of a chat.send. Every message passes through here, so that no text can command a host. */
export const toChatText = (content: ChatContent): string => content.command ?? disarm(content.message);

/** The word joiner is invisible, is not white space, and is not dropped by hosts. */
const JOINER = "\u2060";

/** Characters that hosts drop from messages. Dropping one between a space and a slash would turn the slash into a directive. */
// oxlint-disable-next-line no-control-regex -- exactly these are dropped
const DROPPED = /[\0-\x08\x0B\x0C\x0E-\x1F\x7F]/g;

/**
 * A slash that begins a word. Hosts obey directives (`/model x -g`) anywhere in a text, also after a sender's name with a colon
 * and after text in brackets. Old hosts also obey them after a literal \n. `/api/v1/` is not a directive, and agents must be able
 * to copy such paths.
 */
const DIRECTIVE = /(?<=^|[\s\]:]|\\[nr])\/(?=[^\s/])(?!api\/v1\/)/g;
/** At the beginning of a message, `!` runs a shell command on the host, so no word may begin with it. `!=` is not a command. */
const SHELL_COMMAND = /(?<=^|[\s\]:]|\\[nr])!(?!=\s)/g;
/** `$name` makes the agent use a skill, anywhere in a message. A name without a lower-case letter is a shell variable instead. */
const SKILL = /\$(?=[-\w:]*[a-z])/g;
/** Older hosts take only what follows this text as the message. */
const MESSAGE_START = /\[(?=Current message - respond to this\])/g;

/**
 * Changes a text so that a host obeys nothing in it (docs/reference/gateways.md#orders-to-hosts). It adds only invisible
 * characters. It also normalizes the text as hosts do, and replaces the characters that hosts drop with U+FFFD.
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

/** A message that consists of these words alone aborts the agent's run and does not reach the agent. */
const STOP_WORDS = new Set(
  `stop stopp abort esc exit halt interrupt wait please openclaw action current run agent the don t dont do not anything
  doing that detente deten detén arrete arrête pare anhalten aufhören hoer auf стоп остановись останови остановить прекрати
  停止 停下来 暂停 やめて 止めて रुको توقف`.split(/\s+/),
);

const wordsOf = (text = ""): string[] => text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
const areStopWords = (words: readonly string[]): boolean => words.every((word) => STOP_WORDS.has(word));

/** Returns whether a host may interpret a text as an order to stop. Hosts skip text in brackets and the names of senders. */
function asksToStop(text: string): boolean {
  const plain = withoutBrackets(text);
  // Hosts of version 2026.9 treat a line's text before its first colon as a name. Only \n ends a line, not other line breaks.
  const nameless = plain.split("\n").map((line) => line.slice(line.indexOf(":") + 1));
  return hasOnlyStopWords(plain) || hasOnlyStopWords(nameless.join("\n"));
}

/** Returns whether all lines consist of stop words, apart from the names of senders. */
function hasOnlyStopWords(text: string): boolean {
  const words = text.split(/[\n\r\u2028\u2029]|\\[nr]/).flatMap((line) => {
    const parts = line.split(":");
    const last = wordsOf(parts.pop());
    if (last.length > 0) return last;
    // If a line ends with a colon, the words before it are a sender's name, unless they are stop words.
    const before = wordsOf(parts.findLast((part) => /\p{L}/u.test(part)));
    return areStopWords(before) ? before : [];
  });
  return words.length > 0 && areStopWords(words);
}
