/** ANSI escape sequences, which colour text or move the cursor in a terminal: CSI, OSC, and sequences of two characters. */
// oxlint-disable-next-line no-control-regex -- The expression must match control characters.
const ANSI = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\^_])/g;
/** Control characters except tab and newline, and characters that reverse the direction of text. */
// oxlint-disable-next-line no-control-regex -- This expression must match control characters too.
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;
const toCode = (character: string): string => `‹${character.codePointAt(0)!.toString(16).padStart(2, "0")}›`;

/** Makes a program's text safe to show: removes terminal sequences, and makes every other control character visible. */
export const toPlain = (text: string): string => text.replaceAll("\r\n", "\n").replace(ANSI, "").replace(CONTROL, toCode);
