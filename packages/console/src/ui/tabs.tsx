import type { ComponentType } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { type OrganizationView, route, toView } from "../route.ts";
import "../styles/parts.css";

interface TabsProps {
  label: string;
  /** Each tab has an address, so that it can be linked and the browser's back button works. */
  tabs: readonly (readonly [address: string, label: string])[];
  current: string;
}

export function Tabs({ label, tabs, current }: TabsProps) {
  const list = useRef<HTMLElement>(null);
  // On a phone the tabs scroll sideways, and the selected tab may be out of sight.
  useEffect(
    () => list.current?.querySelector("[aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" }),
    [current],
  );
  return (
    <nav class="tabs" aria-label={label} ref={list}>
      {tabs.map(([address, text]) => (
        <a key={address} href={address} aria-current={address === current ? "page" : undefined}>
          {text}
        </a>
      ))}
    </nav>
  );
}

interface TabbedViewProps<Name extends string> {
  view: OrganizationView;
  title: string;
  tabs: readonly { name: Name; label: string }[];
  pages: Record<Name, ComponentType>;
}

/** Shows a view with tabs. The address names the tab after the view. Without a known name, the first tab is shown. */
export function TabbedView<Name extends string>({ view, title, tabs, pages }: TabbedViewProps<Name>) {
  const tab = tabs.find(({ name }) => name === route.value.path[0]) ?? tabs[0]!;
  const Page: ComponentType = pages[tab.name];
  return (
    <main class="view">
      <h1>{title}</h1>
      <Tabs
        label={title}
        tabs={tabs.map(({ name, label }) => [toView(view, name), label] as const)}
        current={toView(view, tab.name)}
      />
      <Page />
    </main>
  );
}
