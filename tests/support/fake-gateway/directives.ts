import { withoutBrackets } from "@board/core/values/text";
import type { Dialect } from "./dialect.ts";
import type { Host } from "./host.ts";

/** How a host understands one message. */
interface ReadMessage {
  /** The text that the agent gets, or null when the host does not pass the message on. */
  seen: string | null;
  /** The commands that the host found in the message, such as `/model x/y -g`, in the order in which it obeyed them. */
  obeyed: string[];
}

/** Commands that must be the whole message, apart from what the host takes for the sender's name. */
const COMMANDS = "new|reset|stop|compact|restart|update|config|debug|bash|allowlist|activation|send|approve|goal|btw|steer";
const STOP_WORDS = /^(stop|abort|esc|exit|interrupt|halt|please stop|stop please|stop the agent)[\s.!?…,;:'"”)\]}]*$/i;

const LEVEL = String.raw`(?:\s*:)?(?:\s*[a-z-]+)?`;
/** Directives, which may be anywhere in a text, each with the pattern of its arguments. */
const DIRECTIVES: readonly [names: string, args: string][] = [
  ["thinking|think|t|verbose|v|trace|fast|reasoning|reason|queue", LEVEL],
  ["elevated|elev", LEVEL],
  ["exec", String.raw`(?:\s*:)?(?:\s+(?:host|security|ask|node)[=:]\S+)*`],
  ["model", String.raw`(?:\s*:)?(?:\s*[\w.:@-]+(?:/[\w.:@-]+)*)?(?:\s+(?:-[sag]|--(?:session|agent|global))(?!\S))?`],
  ["status|help|commands|whoami|id", String.raw`(?:\s*:)?`],
];

/**
 * Reads a message as the release does when the sender is the host's owner. All releases agree that a directive is a name after a
 * slash at the start of a word, up to white space or a colon. They differ in whether they obey it in the middle of other text.
 */
export function readMessage(message: string, dialect: Dialect): ReadMessage {
  // oxlint-disable-next-line no-control-regex -- hosts drop these characters
  const received = message.normalize("NFC").replace(/[\0-\x08\x0B\x0C\x0E-\x1F\x7F]/g, "");
  const text = dialect.unescapes_newlines ? received.replaceAll("\\n", "\n") : received;
  const order = withoutSender(text, dialect);
  if (STOP_WORDS.test(order) || order.startsWith("!")) return { seen: null, obeyed: [order] };
  const command = new RegExp(`^/(?:${COMMANDS})(?=$|[\\s:])`, "i").exec(order);
  if (command) return { seen: null, obeyed: [order] };
  const { rest, found } = takeDirectives(text);
  const isAlone = found.length > 0 && withoutSender(rest, dialect) === "";
  const skills = dialect.skill_references ? [...text.matchAll(/\$(?=[-\w:]*[a-z])[-\w:]+/g)].map(([name]) => name) : [];
  const obeyed = [...(dialect.obeys_inline_directives || isAlone ? found : []), ...skills];
  const isSwallowed = isAlone || obeyed.some((directive) => /^\/elev/i.test(directive));
  return { seen: isSwallowed ? null : dialect.joins_lines ? rest.replace(/\s+/g, " ").trim() : rest, obeyed };
}

/** Removes all directives from a text and returns both. */
function takeDirectives(text: string): { rest: string; found: string[] } {
  const found: string[] = [];
  let rest = text;
  for (const [names, args] of DIRECTIVES) {
    const pattern = new RegExp(String.raw`(?<!\S)/(?:${names})(?=$|[\s:])${args}`, "gi");
    rest = rest.replace(pattern, (directive) => {
      found.push(directive.trim());
      return " ";
    });
  }
  return { rest: found.length > 0 ? rest : text, found };
}

/** Removes what a host takes for a channel's envelope and a sender's name before it looks for commands. */
function withoutSender(text: string, dialect: Dialect): string {
  if (!dialect.unescapes_newlines) {
    const body = text.replace(/^(?:[ \t]*\[[^\]\n]+\][ \t]*)+/, "").replace(/^[ \t]*(?!\/)[^\n:]{1,120}:\s+/gm, "");
    return body.replaceAll("\\n", " ").trim();
  }
  const marker = "[Current message - respond to this]";
  const current = text.includes(marker) ? text.slice(text.indexOf(marker) + marker.length) : text;
  return withoutBrackets(current)
    .replace(/^[A-Za-z0-9+()\-_. \t]+:\s*/gm, "")
    .replace(/\s+/g, " ")
    .trim();
}

/** Changes the host's settings as the commands say. A setting applies to one session, or with `-g` to all sessions. */
export function obey(host: Host, session_key: string, orders: readonly string[]): void {
  for (const order of orders) {
    host.obeyed.push({ session_key, order });
    const [prefix, name] = /^\/([a-z]+)/i.exec(order) ?? [];
    if (prefix === undefined || name === undefined) continue;
    const value = order.slice(prefix.length).trim().replace(/^:/, "").trim();
    if (value === "") continue;
    const isGlobal = /\s(?:-g|--global)$/.test(value);
    host.settings.set(isGlobal ? name : `${session_key} ${name}`, value);
  }
}
