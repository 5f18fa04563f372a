import "../styles/parts.css";

interface TabsProps {
  label: string;
  /** Each tab has an address, so that it can be linked and the browser's back button works. */
  tabs: readonly (readonly [address: string, label: string])[];
  current: string;
}

export function Tabs({ label, tabs, current }: TabsProps) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(([address, text]) => (
        <a key={address} href={address} aria-current={address === current ? "page" : undefined}>
          {text}
        </a>
      ))}
    </nav>
  );
}
