import { saveAs } from "./save.ts";

/** The texts that the page shows as HTML around a drawing. A saved picture contains them as text of the drawing. */
export interface Frame {
  title: string;
  /** What the drawing covers, such as a time and boards. */
  about: string;
  /** What the parts of a column or bar represent. Each style name is also a CSS class. */
  kinds: readonly (readonly [style: string, label: string])[];
  /** The largest and the smallest value of columns. */
  scale?: readonly [top: string, bottom: string];
  /** The first and the last time of columns. */
  ends?: readonly [first: string, last: string];
  /** The name and the value of each bar. The name is at the left of the bar. */
  bars?: readonly (readonly [name: string, value: string])[];
}

const NAMESPACE = "http://www.w3.org/2000/svg";
const WIDTH = 1_000;
const TOP = 84;
const EDGE = 20;
/** Room for names of bars, for their values, and for a scale. */
const NAMES = 240;
const VALUES = 200;
const SCALE = 90;
const ENDS = 44;
const GAP = 8;
/** Longer texts would reach over the drawing. */
const MAX_TEXT = 30;
/** Estimated width of a character of the legend. The exact width is known only after drawing. */
const CHARACTER = 7.5;

function draw<Name extends keyof SVGElementTagNameMap>(
  name: Name,
  attributes: Record<string, string | number>,
  text?: string,
): SVGElementTagNameMap[Name] {
  const element = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  if (text !== undefined) element.textContent = text;
  return element;
}

const toCut = (text: string): string => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text);

/** Copies a drawing with its colours, because a file has no style sheet. */
function copyOf(drawing: SVGSVGElement): SVGSVGElement {
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  const shown = drawing.querySelectorAll("rect");
  copy.querySelectorAll("rect").forEach((rect, index) => {
    if (rect.classList.contains("hit")) rect.remove();
    else rect.setAttribute("fill", getComputedStyle(shown[index]!).fill);
  });
  for (const element of copy.querySelectorAll("[tabindex]")) element.removeAttribute("tabindex");
  return copy;
}

/** Returns a picture of a drawing with its title, legend, scale and dates. */
function toPicture(drawing: SVGSVGElement, { title, about, kinds, scale, ends, bars = [] }: Frame): SVGSVGElement {
  const figure = getComputedStyle(drawing.closest(".chart")!);
  const [left, right] = bars.length > 0 ? [NAMES, VALUES] : [SCALE, EDGE];
  const height = drawing.viewBox.baseVal.height;
  const bottom = TOP + height;
  const picture = draw("svg", {
    xmlns: NAMESPACE,
    width: WIDTH,
    height: bottom + ENDS,
    viewBox: `0 0 ${WIDTH} ${bottom + ENDS}`,
    "font-family": "system-ui, sans-serif",
    "font-size": 14,
    fill: figure.color,
  });
  picture.append(
    draw("rect", { width: WIDTH, height: bottom + ENDS, fill: figure.backgroundColor }),
    draw("text", { x: EDGE, y: 32, "font-size": 18, "font-weight": 600 }, title),
    draw("text", { x: EDGE, y: 56 }, about),
  );
  let x = WIDTH - EDGE;
  for (const [style, label] of kinds.toReversed()) {
    const shown = drawing.querySelector(`rect.${style}`);
    picture.append(draw("text", { x, y: 56, "text-anchor": "end" }, label));
    x -= label.length * CHARACTER + GAP + 12;
    if (shown) picture.append(draw("rect", { x, y: 45, width: 12, height: 12, fill: getComputedStyle(shown).fill }));
    x -= EDGE;
  }
  const copy = copyOf(drawing);
  for (const [name, value] of Object.entries({ x: left, y: TOP, width: WIDTH - left - right, height }))
    copy.setAttribute(name, String(value));
  picture.append(copy);
  if (scale) {
    picture.append(
      draw("text", { x: left - GAP, y: TOP + 12, "text-anchor": "end" }, scale[0]),
      draw("text", { x: left - GAP, y: bottom, "text-anchor": "end" }, scale[1]),
      draw("rect", { x: left, y: bottom, width: WIDTH - left - right, height: 1 }),
    );
  }
  if (ends)
    picture.append(
      draw("text", { x: left, y: bottom + 24 }, ends[0]),
      draw("text", { x: WIDTH - right, y: bottom + 24, "text-anchor": "end" }, ends[1]),
    );
  bars.forEach(([name, value], index) => {
    const y = TOP + ((index + 0.5) * height) / bars.length + 5;
    picture.append(
      draw("text", { x: left - GAP, y, "text-anchor": "end" }, toCut(name)),
      draw("text", { x: WIDTH - right + GAP, y }, toCut(value)),
    );
  });
  return picture;
}

interface SavePictureProps {
  /** The name of the file without its extension. */
  name: string;
  frame: Frame;
}

/** Saves the chart that contains this button, or is in the same figure. The file can be viewed without the page. */
export function SavePicture({ name, frame }: SavePictureProps) {
  const save = (button: HTMLButtonElement) => {
    const drawing = button.closest(".figure, .chart")?.querySelector<SVGSVGElement>(".chart svg");
    if (!drawing) return;
    const text = new XMLSerializer().serializeToString(toPicture(drawing, frame));
    saveAs(`${name}.svg`, new Blob([text], { type: "image/svg+xml" }));
  };
  return (
    <button type="button" class="small" onClick={(event) => save(event.currentTarget)}>
      Save as a picture
    </button>
  );
}
