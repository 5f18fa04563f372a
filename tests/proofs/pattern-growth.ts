import { type AST, RegExpParser } from "@eslint-community/regexpp";

/** How the steps of a pattern grow with the length of a text that it does not match. */
export type Growth = "linear" | "polynomial" | "exponential";

/** A position in the pattern that reads one character, and the positions that may read the next one. */
interface Place {
  reads: ReadonlySet<string>;
  /** The next places. A place that is listed twice can be reached in two ways. */
  next: Place[];
}

/** A part of the pattern as places (Glushkov's construction). */
interface Part {
  first: Place[];
  last: Place[];
  /** Whether the part can match the empty text. */
  nullable: boolean;
  /** Whether it can match the empty text without a condition such as `$` or a look-around. */
  free: boolean;
  /** The places of `last` after which the part is complete without a condition. */
  freeLast: Place[];
}

/** Stands for the position before the first character, which only `^` reads. */
const BEGIN = "begin";
const NEWLINES = ["\n", "\r", "\u2028", "\u2029"];
const SAMPLES = [
  ...Array.from("aAbBkKsSzZ059_-/.,:;\"'` \t\v\0()<>{}[]#@!~%&=+*?^$|\\"),
  ...NEWLINES,
  "\u00a0",
  "\u00e9",
  "\u0301",
  "\u4e00",
  "\u{1f600}",
];
/** Counted repetitions are unrolled to this many copies: only loops without a maximum make steps grow with the text. */
const COPIES = 3;

/**
 * Decides by the ambiguity of the pattern's automaton, without running it. It errs on the safe side: conditions count as met, a
 * back reference counts as any text, and a text that is not matched yet counts as one that will fail.
 */
export function growthOf(source: string, flags: string): Growth {
  const places: Place[] = [];
  const pattern = new RegExpParser().parsePattern(source, 0, source.length, {
    unicode: flags.includes("u"),
    unicodeSets: flags.includes("v"),
  });
  const byCodePoint = /[uv]/.test(flags);
  const symbols = [...new Set([...SAMPLES, ...Array.from(source), ...Array.from(source).flatMap(neighbours)])].filter(
    (symbol) => byCodePoint || symbol.length === 1,
  );
  const add = (reads: Iterable<string>): Place => {
    const place = { reads: new Set(reads), next: [] };
    places.push(place);
    return place;
  };
  const readOne = (reads: Iterable<string>): Part => {
    const place = add(reads);
    return { first: [place], last: [place], nullable: false, free: false, freeLast: [place] };
  };
  const readSet = (raw: string): Part => {
    const test = new RegExp(`^(?:${raw})$`, flags.replaceAll(/[gmyd]/g, ""));
    return readOne(symbols.filter((symbol) => test.test(symbol)));
  };
  const multiline = flags.includes("m");

  const sequence = (parts: readonly Part[]): Part =>
    parts.reduce((a, b) => {
      link(a.last, b.first);
      return {
        first: a.nullable ? [...a.first, ...b.first] : a.first,
        last: b.nullable ? [...a.last, ...b.last] : b.last,
        nullable: a.nullable && b.nullable,
        free: a.free && b.free,
        freeLast: b.free
          ? [...a.freeLast, ...b.freeLast]
          : [...b.freeLast, ...(b === END ? a.freeLast.filter(readsWholeLines) : [])],
      };
    }, EMPTY);
  const either = (parts: readonly Part[]): Part => ({
    first: parts.flatMap(({ first }) => first),
    last: parts.flatMap(({ last }) => last),
    nullable: parts.some(({ nullable }) => nullable),
    free: parts.some(({ free }) => free),
    freeLast: parts.flatMap(({ freeLast }) => freeLast),
  });
  const readsWholeLines = ({ reads }: Place) => symbols.every((symbol) => reads.has(symbol) || NEWLINES.includes(symbol));
  const alternatives = (nodes: readonly AST.Alternative[]): Part =>
    either(nodes.map(({ elements }) => sequence(elements.map(build))));
  const repeat = ({ min, max, element }: AST.Quantifier): Part => {
    const required = Math.min(min, COPIES);
    const copies = Array.from({ length: max === Number.POSITIVE_INFINITY ? Math.max(required, 1) : Math.min(max, COPIES) }, () =>
      build(element),
    );
    if (max === Number.POSITIVE_INFINITY) link(copies.at(-1)!.last, copies.at(-1)!.first);
    return sequence(copies.map((copy, index) => (index < required ? copy : { ...copy, nullable: true, free: true })));
  };
  const build = (node: AST.Element): Part => {
    switch (node.type) {
      case "Character":
      case "CharacterSet":
      case "CharacterClass":
      case "ExpressionCharacterClass":
        return readSet(node.raw);
      case "Group":
      case "CapturingGroup":
        return alternatives(node.alternatives);
      case "Quantifier":
        return repeat(node);
      case "Backreference":
        return {
          ...repeat({ min: 0, max: Number.POSITIVE_INFINITY, element: { type: "CharacterSet", raw: "[^]" } } as AST.Quantifier),
          free: false,
        };
      case "Assertion":
        if (node.kind === "start") return readOne(multiline ? [BEGIN, ...NEWLINES] : [BEGIN]);
        if (node.kind === "end") return multiline ? END : CONDITION;
        return "alternatives" in node
          ? { ...alternatives(node.alternatives), nullable: true, free: false, freeLast: [] }
          : CONDITION;
    }
  };

  const whole = alternatives(pattern.alternatives);
  if (!flags.includes("y")) {
    const start = add(symbols);
    start.next.push(start, ...whole.first);
  }
  return classify(places, new Set(whole.freeLast), [...symbols, BEGIN]);
}

const EMPTY: Part = { first: [], last: [], nullable: true, free: true, freeLast: [] };
const CONDITION: Part = { ...EMPTY, free: false };
/** `$` with the flag m. A place that reads everything up to the end of the line always reaches it. */
const END: Part = { ...CONDITION };

const link = (from: readonly Place[], to: readonly Place[]) => from.forEach(({ next }) => void next.push(...to));
const neighbours = (symbol: string): string[] =>
  [-1, 1].map((step) => symbol.codePointAt(0)! + step).flatMap((code) => (code >= 0 ? [String.fromCodePoint(code)] : []));

function classify(places: readonly Place[], accepting: ReadonlySet<Place>, symbols: readonly string[]): Growth {
  const reachable = new Map(places.map((place) => [place, reach(place)]));
  const canReach = (from: Place, to: Place) => reachable.get(from)!.has(to);
  const loops = places.filter((place) => canReach(place, place));
  const failing = loops.filter((place) => !accepting.has(place));
  const isDoubled = (from: Place) => from.next.some((to, index) => from.next.indexOf(to) < index && canReach(to, from));
  if (failing.some(isDoubled)) return "exponential";
  const ambiguous = failing.flatMap((p) =>
    failing.filter((q) => q !== p && canReach(p, q) && isAmbiguous(p, q)).map((q) => [p, q] as const),
  );
  if (ambiguous.some(([p, q]) => canReach(q, p))) return "exponential";
  return ambiguous.length > 0 ? "polynomial" : "linear";

  /** Checks whether one text leads from p to p, from p to q and from q to q. Each repetition of it then adds a way to match. */
  function isAmbiguous(p: Place, q: Place): boolean {
    const number = new Map(places.map((place, index) => [place, index]));
    const seen = new Set<string>();
    const open: [Place, Place, Place][] = [[p, p, q]];
    for (let state = open.pop(); state; state = open.pop()) {
      const [a, b, c] = state;
      if (a === p && b === q && c === q) return true;
      for (const nextA of new Set(a.next)) {
        if (!canReach(nextA, p)) continue;
        for (const nextB of new Set(b.next)) {
          if (nextB !== q && !canReach(nextB, q)) continue;
          for (const nextC of new Set(c.next)) {
            const key = `${number.get(nextA)},${number.get(nextB)},${number.get(nextC)}`;
            if (seen.has(key) || !canReach(nextC, q)) continue;
            if (!symbols.some((symbol) => nextA.reads.has(symbol) && nextB.reads.has(symbol) && nextC.reads.has(symbol)))
              continue;
            seen.add(key);
            open.push([nextA, nextB, nextC]);
          }
        }
      }
    }
    return false;
  }
}

function reach(from: Place): Set<Place> {
  const found = new Set<Place>();
  const open = [...from.next];
  for (let place = open.pop(); place; place = open.pop()) {
    if (found.has(place)) continue;
    found.add(place);
    open.push(...place.next);
  }
  return found;
}
