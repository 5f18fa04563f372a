export type Tile = readonly [label: string, figure: string, more: string];

/** Shows figures side by side, each with its name and a remark. */
export const Tiles = ({ tiles }: { tiles: readonly Tile[] }) => (
  <dl class="tiles">
    {tiles.map(([label, figure, more]) => (
      <div key={label}>
        <dt>{label}</dt>
        <dd class="tile-figure">{figure}</dd>
        <dd class="muted">{more}</dd>
      </div>
    ))}
  </dl>
);
