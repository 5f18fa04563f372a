import { useState } from "preact/hooks";
import { api } from "../api.ts";
import { useResource } from "../resource.ts";
import { List } from "../ui/list.tsx";
import { Markdown } from "../ui/markdown.tsx";
import { CopyButton, Dialog, Loading, Problem } from "../ui/parts.tsx";

const LIMIT = 50;

interface SoulName {
  handle: string;
  slug: string;
}

/** Lists the souls, which are texts that say how an agent behaves. */
export function SoulList() {
  const [q, setQ] = useState("");
  const [shown, setShown] = useState<SoulName | null>(null);
  const read = (signal: AbortSignal) =>
    api.get("/api/v1/souls-directory/search", { params: { query: { q, limit: LIMIT } }, signal });
  const from = useResource(read, [q], () => false, true);
  return (
    <section>
      <div class="filters">
        <input
          type="search"
          aria-label="Search the souls"
          placeholder="Search"
          value={q}
          onInput={(event) => setQ(event.currentTarget.value)}
        />
      </div>
      <List what="the souls" from={from} empty={["No soul was found.", "Try a shorter word."]}>
        {(soul) => (
          <div class="row" key={`${soul.handle}/${soul.slug}`}>
            <span dir="auto">
              {soul.handle} / <strong>{soul.slug}</strong>
            </span>
            <button type="button" aria-label={`Read ${soul.slug}`} onClick={() => setShown(soul)}>
              Read
            </button>
          </div>
        )}
      </List>
      {shown && <SoulDialog soul={shown} onClose={() => setShown(null)} />}
    </section>
  );
}

function SoulDialog({ soul: { handle, slug }, onClose }: { soul: SoulName; onClose: () => void }) {
  const read = (signal: AbortSignal) =>
    api.get("/api/v1/souls-directory/{handle}/{slug}", { params: { path: { handle, slug } }, signal });
  const { data, error, reload } = useResource(read, [handle, slug], () => false, true);
  return (
    <Dialog title={`${handle} / ${slug}`} onClose={onClose}>
      <Problem error={error} retry={reload} />
      {!data && !error && <Loading what="the soul" />}
      {data && (
        <>
          <CopyButton label="the text" text={data.content} />
          <div class="prose" tabIndex={0} role="region" aria-label="Text of the soul">
            <Markdown text={data.content} />
          </div>
        </>
      )}
    </Dialog>
  );
}

/** Shows the souls as a page, to which the settings of agents link. */
export function Souls() {
  return (
    <main class="view">
      <h1>Souls</h1>
      <SoulList />
    </main>
  );
}
