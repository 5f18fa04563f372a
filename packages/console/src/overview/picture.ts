import { saveAs } from "../ui/save.ts";

/** The properties that the style sheet sets. They are copied into a saved drawing, because its file has no style sheet. */
const PROPERTIES = ["fill", "stroke"];

/** Saves a drawing as a file that looks the same without the page. */
export function savePicture(selector: string, name: string): void {
  const drawing = document.querySelector<SVGSVGElement>(selector);
  if (!drawing) return;
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  const shown = drawing.querySelectorAll("rect");
  copy.querySelectorAll("rect").forEach((rect, index) => {
    const style = getComputedStyle(shown[index]!);
    for (const property of PROPERTIES) rect.setAttribute(property, style.getPropertyValue(property));
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", "1000");
  const text = new XMLSerializer().serializeToString(copy);
  saveAs(`${name}.svg`, new Blob([text], { type: "image/svg+xml" }));
}
