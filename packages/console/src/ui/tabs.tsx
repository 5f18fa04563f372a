import { useEffect, useRef } from "preact/hooks";
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
