import { route, toView } from "../route.ts";
import { Tabs } from "../ui/tabs.tsx";
import { Marketplace } from "./marketplace.tsx";
import { Packs } from "./packs.tsx";
import { SoulList } from "./souls.tsx";

const TABS = [
  ["marketplace", "Marketplace"],
  ["packs", "Packs"],
  ["souls", "Souls"],
] as const;

/** Shows what agents can learn: the skills of the marketplace, the packs that contain them, and souls. */
export function Skills() {
  const tab = TABS.find(([name]) => name === route.value.path[0])?.[0] ?? "marketplace";
  return (
    <main class="view">
      <h1>Skills</h1>
      <Tabs
        label="Skills"
        tabs={TABS.map(([name, label]) => [toView("skills", name), label] as const)}
        current={toView("skills", tab)}
      />
      {tab === "marketplace" && <Marketplace />}
      {tab === "packs" && <Packs />}
      {tab === "souls" && <SoulList />}
    </main>
  );
}
