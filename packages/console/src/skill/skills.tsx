import { TabbedView } from "../ui/tabs.tsx";
import { Marketplace } from "./marketplace.tsx";
import { Packs } from "./packs.tsx";
import { SoulList } from "./souls.tsx";

const TABS = [
  { name: "marketplace", label: "Marketplace" },
  { name: "packs", label: "Packs" },
  { name: "souls", label: "Souls" },
] as const;
const PAGES = { marketplace: Marketplace, packs: Packs, souls: SoulList };

/** Shows what agents can learn: the skills of the marketplace, the packs that contain them, and souls. */
export const Skills = () => <TabbedView view="skills" title="Skills" tabs={TABS} pages={PAGES} />;
