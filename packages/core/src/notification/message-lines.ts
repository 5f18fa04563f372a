import { type Agent, actorName, type User } from "../context/actor.ts";
import { authorOf, authorText } from "../context/author.ts";
import { fenceMessage, toPlainText } from "../values/text.ts";
import { oneLine } from "../values/wire.ts";

/** Returns the line of a message that names its author. The type and id come first, because a name can contain any text. */
export const fromLine = (actor: User | Agent): string => `From: ${authorText(authorOf(actor))} (${oneLine(actorName(actor))})`;

/**
 * Returns the lines for a label and a text that an agent or person wrote. A text with several lines is put into a fence, so that
 * none of its lines can imitate a line of the service.
 */
export const textLines = (label: string, text: string): string[] =>
  toPlainText(text.trim()).includes("\n") ? [`${label}:`, fenceMessage(text.trim())] : [`${label}: ${oneLine(text)}`];
