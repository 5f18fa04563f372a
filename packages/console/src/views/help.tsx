import { Dialog } from "../ui/parts.tsx";

const SHORTCUTS: [string, [string[], string][]][] = [
  [
    "Everywhere",
    [
      [["?"], "This help"],
      [["Ctrl", "K"], "Jump to a task, board, agent, page or action"],
      [["g", "b"], "Board"],
      [["g", "n"], "Needs you"],
      [["g", "i"], "Inbox"],
      [["g", "a"], "Activity"],
      [["g", "t"], "Agents"],
      [["g", "w"], "Webhooks"],
      [["g", "u"], "Usage and budgets"],
      [["g", "o"], "Overview"],
      [["g", "m"], "Organization"],
      [["g", "y"], "Your profile and keys"],
      [["g", "h"], "Gateways"],
      [["g", "s"], "Skills"],
      [["Ctrl", "Enter"], "Send the form"],
      [["t"], "Light, dark or as the system"],
    ],
  ],
  [
    "Board",
    [
      [["←", "↑", "↓", "→"], "Go from card to card"],
      [["Shift", "←"], "Move the card to the column before"],
      [["Shift", "→"], "Move the card to the next column"],
      [["1", "–", "5"], "Move the card to a column"],
      [["Enter"], "Open the card"],
      [["Esc"], "Close it"],
      [["c"], "New task"],
      [["/"], "Filter"],
    ],
  ],
  [
    "Steps of a run",
    [
      [["Home"], "The oldest"],
      [["End"], "The newest"],
      [["Esc"], "Back to the task"],
    ],
  ],
];

export function Help({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <div class="shortcuts">
        {SHORTCUTS.map(([title, rows]) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {rows.map(([keys, text]) => (
                <div key={text}>
                  <dt>
                    {keys.map((key) => (
                      <kbd key={key}>{key}</kbd>
                    ))}
                  </dt>
                  <dd>{text}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
