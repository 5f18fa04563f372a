/** Counts what happens, so that the end can say whether every accepted post reached its agent. */
export interface Tally {
  accepted(payload_id: string, subject: string): void;
  refused(): void;
  /** The gateway has the message; returns what it is about and the milliseconds since the post. */
  delivered(payload_id: string): { subject: string; waited_ms: number };
  /** An agent has dealt with the payload. */
  handled(payload_id: string): void;
  noted(): void;
  said(): void;
  /** Whether an agent has dealt with every accepted post. */
  isSettled(): boolean;
  /** Lines for the end; none when nothing was posted. */
  summary(): string[];
}

export function createTally(): Tally {
  const posted = new Map<string, { subject: string; at: number }>();
  const deliveries = new Map<string, number>();
  const handled = new Set<string>();
  const counts = { refused: 0, notes: 0, lines: 0 };
  let longest_ms = 0;
  return {
    accepted: (id, subject) => void posted.set(id, { subject, at: performance.now() }),
    refused: () => void counts.refused++,
    delivered(id) {
      deliveries.set(id, (deliveries.get(id) ?? 0) + 1);
      const { subject, at } = posted.get(id) ?? { subject: "a post", at: performance.now() };
      const waited_ms = performance.now() - at;
      longest_ms = Math.max(longest_ms, waited_ms);
      return { subject, waited_ms };
    },
    handled: (id) => void handled.add(id),
    noted: () => void counts.notes++,
    said: () => void counts.lines++,
    isSettled: () => [...posted.keys()].every((id) => handled.has(id)),
    summary() {
      if (posted.size === 0) return [];
      const waiting = posted.size - [...posted.keys()].filter((id) => deliveries.has(id)).length;
      const doubles = [...deliveries.values()].filter((times) => times > 1).length;
      return [
        `accepted      ${posted.size}   answered with 202 once stored`,
        `refused       ${counts.refused}   wrong signature, nothing stored`,
        `delivered     ${deliveries.size}   ${waiting === 0 ? "none lost" : `${waiting} still on the way`}, ${doubles === 0 ? "none twice" : `${doubles} twice`}`,
        `notes         ${counts.notes}   in the board's memory, and ${counts.lines} lines of chat`,
        `longest wait  ${longest_ms < 1000 ? `${Math.round(longest_ms)} ms` : `${(longest_ms / 1000).toFixed(1)} s`} from post to agent, outages included`,
      ];
    },
  };
}
