import type { SoulDirectory } from "./directory.ts";
import type { SoulName } from "./soul-name.ts";

const HANDLE = "board";

type LoadText = () => Promise<{ soul: string }>;

/** The built-in souls. Each text is a separate module that is loaded on use, so that reading one text does not load all texts. */
const TEXTS: ReadonlyMap<string, LoadText> = new Map<string, LoadText>([
  ["lead-coordinator", () => import("./texts/lead-coordinator.ts")],
  ["engineer", () => import("./texts/engineer.ts")],
  ["backend-engineer", () => import("./texts/backend-engineer.ts")],
  ["frontend-engineer", () => import("./texts/frontend-engineer.ts")],
  ["code-reviewer", () => import("./texts/code-reviewer.ts")],
  ["qa-engineer", () => import("./texts/qa-engineer.ts")],
  ["devops-engineer", () => import("./texts/devops-engineer.ts")],
  ["security-engineer", () => import("./texts/security-engineer.ts")],
  ["product-designer", () => import("./texts/product-designer.ts")],
  ["data-analyst", () => import("./texts/data-analyst.ts")],
  ["researcher", () => import("./texts/researcher.ts")],
  ["writer", () => import("./texts/writer.ts")],
  ["customer-support-specialist", () => import("./texts/customer-support-specialist.ts")],
]);

const NAMES: readonly SoulName[] = [...TEXTS.keys()].map((slug) => ({ handle: HANDLE, slug }));

/** Creates the built-in directory. `base_url` is the URL of the service without a trailing slash. */
export function createBuiltInDirectory(base_url: string): SoulDirectory {
  const pageUrl = ({ handle, slug }: SoulName) => `${base_url}/api/souls-directory/${handle}/${slug}`;
  return {
    list: async () => NAMES,
    async find({ handle, slug }) {
      const load = handle === HANDLE ? TEXTS.get(slug) : undefined;
      return load ? (await load()).soul : null;
    },
    pageUrl,
    markdownUrl: (name) => `${pageUrl(name)}.md`,
  };
}
