import type { ComponentChildren } from "preact";
import type { Resource } from "../resource.ts";
import { toWhole } from "./figures.ts";
import { Empty, Loading, Problem } from "./parts.tsx";

interface ListProps<Item> {
  /** The name of what is listed, such as "the members", for the text while it is loaded. */
  what: string;
  from: Resource<{ items: readonly Item[]; total?: number }>;
  /** The title and the explanation that are shown if the list is empty. */
  empty: readonly [title: string, text: string];
  children: (item: Item) => ComponentChildren;
}

/** Shows the rows of a list, or why there are no rows. */
export function List<Item>({ what, from: { data, error, reload }, empty, children }: ListProps<Item>) {
  const missing = data?.total === undefined ? 0 : data.total - data.items.length;
  return (
    <>
      <Problem error={error} retry={reload} />
      {!data && !error && <Loading what={what} />}
      {data?.items.length === 0 && <Empty title={empty[0]}>{empty[1]}</Empty>}
      {data && data.items.length > 0 && <div class="rows">{data.items.map(children)}</div>}
      {missing > 0 && <p class="muted">{toWhole(missing)} more are not shown.</p>}
    </>
  );
}
