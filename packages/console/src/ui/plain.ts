/** A sequence that colours or moves in a terminal: CSI, OSC, and those of two characters. */
// oxlint-disable-next-line no-control-regex -- These characters are what is looked for.
const ANSI = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\^_])/g;
/** Control characters except tab and newline, and those that turn the direction of text around. */
// oxlint-disable-next-line no-control-regex -- As above.
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;
const toCode = (character: string): string => `‹${character.codePointAt(0)!.toString(16).padStart(2, "0")}›`;

/** Makes a program's text safe to show: without terminal colours, and with every other control character visible. */
export const toPlain = (text: string): string => text.replaceAll("\r\n", "\n").replace(ANSI, "").replace(CONTROL, toCode);
