import { useEffect, useRef, useState } from "preact/hooks";
import { toWhole } from "../ui/figures.ts";
import { toPlain } from "../ui/plain.ts";
import { Problem } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import { MarkdownFile, PlainFile } from "../ui/text-file.tsx";
import { parseCsv } from "./csv.ts";

interface Props {
  type: string;
  text: string | null;
  blob: Blob | null;
  name: string;
}

export function Content({ type, text, blob, name }: Props) {
  if (blob) return <Picture blob={blob} name={name} />;
  if (text === null) return null;
  if (type === "text/markdown") return <MarkdownFile label="Content" text={text} />;
  if (type === "text/csv") return <Csv text={text} />;
  if (type === "application/json") return <PlainFile label="Content" text={indent(text)} />;
  return <PlainFile label="Content" text={text} />;
}

function indent(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

const MAX_ROWS = 1_000;

interface CsvRow {
  cells: readonly string[];
  key: string;
}

function Csv({ text }: { text: string }) {
  const [head = [], ...rows] = parseCsv(text, MAX_ROWS + 2);
  const shown = rows.slice(0, MAX_ROWS).map((cells, index): CsvRow => ({ cells, key: String(index) }));
  return (
    <>
      {rows.length > MAX_ROWS && (
        <p class="muted">Only the first {toWhole(MAX_ROWS)} rows are shown. Save the file to see all of them.</p>
      )}
      <Table
        label="Rows"
        isText
        rows={shown}
        keyOf={({ key }) => key}
        columns={head.map((label, index) => ({
          label: toPlain(label),
          cell: ({ cells }: CsvRow) => toPlain(cells[index] ?? ""),
        }))}
      />
    </>
  );
}

/** A picture that is wider or higher than this number of pixels is scaled down. */
const MAX_EDGE = 2_000;

/** Redraws a picture on a canvas, so that only its pixels reach the page and no other content of the file. */
function Picture({ blob, name }: { blob: Blob; name: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [error, setError] = useState<string | null>(null);
  useEffect(() => {
    let isOver = false;
    createImageBitmap(blob).then(
      (picture) => {
        const target = canvas.current;
        if (!target || isOver) return;
        const scale = Math.min(1, MAX_EDGE / Math.max(picture.width, picture.height));
        target.width = Math.max(1, Math.round(picture.width * scale));
        target.height = Math.max(1, Math.round(picture.height * scale));
        target.getContext("2d")?.drawImage(picture, 0, 0, target.width, target.height);
        picture.close();
      },
      () => !isOver && setError("The browser cannot read this picture."),
    );
    return () => {
      isOver = true;
    };
  }, [blob]);
  if (error) return <Problem error={error} />;
  return <canvas ref={canvas} class="file-picture" role="img" aria-label={name} />;
}
