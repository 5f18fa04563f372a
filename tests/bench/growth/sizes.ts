/** How many rows all organizations have together. */
export interface Size {
  organizations: number;
  agents: number;
  events: number;
  done_jobs: number;
}

const size = (organizations: number, agents: number, rows: number): Size => ({
  organizations,
  agents,
  events: rows,
  done_jobs: rows,
});

/** `GROWTH=full` takes about half an hour and 15 GB of disk. */
const SIZES: Record<string, readonly Size[]> = {
  small: [size(10, 100, 1_000), size(100, 1_000, 10_000), size(1_000, 10_000, 100_000)],
  full: [size(10, 1_000, 10_000), size(1_000, 10_000, 100_000), size(100_000, 1_000_000, 10_000_000)],
};

export function chosenSizes(): readonly Size[] {
  const name = process.env.GROWTH ?? "small";
  const sizes = SIZES[name];
  if (!sizes) throw new Error(`GROWTH=${name} is unknown. Available: ${Object.keys(SIZES).join(", ")}.`);
  return sizes;
}
