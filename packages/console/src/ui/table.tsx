import type { ComponentChildren } from "preact";
import "../styles/parts.css";

interface TableColumn<Row> {
  label: string;
  cell: (row: Row) => ComponentChildren;
}

interface TableProps<Row> {
  label: string;
  columns: readonly TableColumn<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  /** Whether the cells are texts, which are aligned left. Figures are aligned right. */
  isText?: boolean;
}

/** Shows a table whose first column names the row. It scrolls sideways, also with the keyboard. */
export function Table<Row>({ label, columns: [first, ...others], rows, keyOf, isText }: TableProps<Row>) {
  return (
    <div class={isText ? "table texts" : "table"} role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">{first?.label}</th>
            {others.map((column) => (
              <th key={column.label} scope="col">
                {column.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              <th scope="row" dir="auto">
                {first?.cell(row)}
              </th>
              {others.map((column) => (
                <td key={column.label}>{column.cell(row)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
