import { Column, getTableName, is, SQL } from "drizzle-orm";
import type { SelectedFieldsOrdered } from "drizzle-orm/pg-core";

export type MapRows = (rows: unknown[][]) => Record<string, unknown>[];

type Decode = (value: unknown) => unknown;
/** For each table by name, whether a join never leaves it out. */
export type Joins = Readonly<Record<string, boolean>> | undefined;

interface Slot {
  name: string;
  index: number;
  decode: Decode | undefined;
}

/** An object in the row, such as one of two joined tables. */
interface Nested {
  name: string;
  slots: Slot[];
  /** Index of the column that is null when an outer join found no row; null when the object always exists. */
  presence: number | null;
}

/**
 * Makes the function that turns the rows of a query into the same objects that Drizzle makes. Drizzle looks up the class of
 * every column for every row, which for a page takes as long as the rest of the query in this process.
 */
export function createRowMapper(fields: SelectedFieldsOrdered, joins: Joins): MapRows {
  const parts = toParts(fields, joins);
  return (rows) =>
    rows.map((row) => {
      const item: Record<string, unknown> = {};
      for (const part of parts) item[part.name] = "slots" in part ? readNested(row, part) : readSlot(row, part);
      return item;
    });
}

function readSlot(row: unknown[], { index, decode }: Slot): unknown {
  const value = row[index];
  return value === null || decode === undefined ? value : decode(value);
}

function readNested(row: unknown[], { slots, presence }: Nested): Record<string, unknown> | null {
  if (presence !== null && row[presence] === null) return null;
  const item: Record<string, unknown> = {};
  for (const slot of slots) item[slot.name] = readSlot(row, slot);
  return item;
}

function toParts(fields: SelectedFieldsOrdered, joins: Joins): (Slot | Nested)[] {
  const groups = Map.groupBy(
    fields.map(({ path, field }, index) => ({ path, field, index })),
    ({ path }) => path[0]!,
  );
  return [...groups].map(([name, group]) => {
    const [first] = group;
    if (first!.path.length === 1) return { name, index: first!.index, decode: toDecoder(first!.field) };
    const slots = group.map(({ path, field, index }) => {
      if (path.length > 2) throw new Error(`Column ${path.join(".")} is nested too deeply`);
      return { name: path[1]!, index, decode: toDecoder(field) };
    });
    return { name, slots, presence: presenceOf(group, joins) };
  });
}

/** By Drizzle's rule: the first column, when all columns are of one table that a join may leave out. */
function presenceOf(group: (SelectedFieldsOrdered[number] & { index: number })[], joins: Joins): number | null {
  const columns = group.flatMap(({ field, index }) => (is(field, Column) ? [{ index, table: getTableName(field.table) }] : []));
  const [first] = columns;
  const isOptional = first !== undefined && joins !== undefined && !joins[first.table];
  return isOptional && columns.every(({ table }) => table === first.table) ? first.index : null;
}

/** Undefined for a column whose value is used as the driver returns it. */
function toDecoder(field: SelectedFieldsOrdered[number]["field"]): Decode | undefined {
  // Drizzle keeps the decoder of an expression to itself.
  const decoder = (is(field, Column) ? field : (is(field, SQL) ? field : (field as SQL.Aliased).sql)["decoder" as never]) as {
    mapFromDriverValue: Decode;
  };
  const { mapFromDriverValue } = decoder;
  if (mapFromDriverValue === Column.prototype.mapFromDriverValue) return undefined;
  return (value) => decoder.mapFromDriverValue(value);
}
