const MAX_COLUMNS = 50;
const MAX_CELL = 1_000;

/** Parses the first `limit` rows of comma-separated values. Quoted cells may contain commas, quotes and line breaks. */
export function parseCsv(text: string, limit: number): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = "";
  let isQuoted = false;
  const endCell = () => {
    if (row.length < MAX_COLUMNS) row.push(cell.slice(0, MAX_CELL));
    cell = "";
  };
  const endRow = () => {
    endCell();
    if (row.length > 1 || row[0] !== "") rows.push(row);
    row = [];
  };
  for (let at = 0; at < text.length && rows.length < limit; at++) {
    const character = text[at]!;
    if (isQuoted) {
      if (character !== '"') cell += character;
      else if (text[at + 1] === '"') cell += text[at++];
      else isQuoted = false;
    } else if (character === '"' && cell === "") isQuoted = true;
    else if (character === ",") endCell();
    else if (character === "\n") endRow();
    else if (character !== "\r") cell += character;
  }
  if (rows.length < limit && (cell !== "" || row.length > 0)) endRow();
  return rows;
}
