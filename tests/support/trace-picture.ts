/** Draws the spans of a trace as a picture for the documents. */
import type { ReceivedSpan } from "./otlp-receiver.ts";

const WIDTH = 900;
const NAMES = 420;
const ROW = 26;
const TOP = 30;
const COLORS: Readonly<Record<string, string>> = {
  server: "#3b6fd4",
  consumer: "#2f9e6e",
  client: "#c9772b",
  internal: "#7b57c2",
};
const MIN_BAR = 3;

const escape = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
const format = (ms: number) => (ms < 1_000 ? `${ms.toFixed(ms < 10 ? 1 : 0)} ms` : `${(ms / 1_000).toFixed(1)} s`);

const before = (x: number, y: number, label: string) =>
  `<text x="${(x - 6).toFixed(1)}" y="${y + 16}" class="small" text-anchor="end">${escape(label)}</text>`;
const after = (x: number, y: number, label: string) =>
  `<text x="${(x + 6).toFixed(1)}" y="${y + 16}" class="small">${escape(label)}</text>`;

/** Draws each span as a bar below its parent, with its name, its duration and the attributes that `show` selects. */
export function drawTrace(spans: readonly ReceivedSpan[], show: (span: ReceivedSpan) => string = () => ""): string {
  const start = Math.min(...spans.map(({ start_ms }) => start_ms));
  const total = Math.max(...spans.map(({ end_ms }) => end_ms)) - start || 1;
  const toX = (ms: number) => NAMES + ((ms - start) / total) * (WIDTH - NAMES - 90);
  const children = (parent: string) =>
    spans.filter(({ parent_id }) => parent_id === parent).toSorted((a, b) => a.start_ms - b.start_ms);
  const rows: { span: ReceivedSpan; depth: number }[] = [];
  const visit = (parent: string, depth: number) => {
    for (const span of children(parent)) {
      rows.push({ span, depth });
      visit(span.span_id, depth + 1);
    }
  };
  visit("", 0);
  const bars = rows.map(({ span, depth }, row) => {
    const y = TOP + row * ROW;
    const x = toX(span.start_ms);
    const width = Math.max(MIN_BAR, toX(span.end_ms) - x);
    const label = [format(span.end_ms - span.start_ms), show(span)].filter(Boolean).join(", ");
    return `  <text x="${10 + depth * 18}" y="${y + 16}">${escape(span.name)}</text>
  <rect x="${x.toFixed(1)}" y="${y + 5}" width="${width.toFixed(1)}" height="14" rx="2" fill="${COLORS[span.kind] ?? "#888888"}"/>
  ${x + width > WIDTH - 170 ? before(x, y, label) : after(x + width, y, label)}`;
  });
  const height = TOP + rows.length * ROW + 10;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">
  <style>text { font: 12px system-ui, sans-serif; fill: #1f2933 } .small { font-size: 11px; fill: #52606d }</style>
  <rect width="${WIDTH}" height="${height}" fill="#ffffff"/>
  <text x="10" y="18" class="small">${rows.length} spans, ${format(total)}</text>
${bars.join("\n")}
</svg>
`;
}
