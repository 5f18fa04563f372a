// Refuses archaic and poetic wording in code and documents: `npm run check:words`. With paths as arguments it checks only these.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** Each entry is a word or phrase that makes readers stumble. `|` separates forms; all match whole words in any case. */
const FORBIDDEN = [
  "whoever|whomever|whosoever|whichever|whatever is|whatever was|whatever comes",
  "nobody's|somebody else's|anybody's|everybody's|nobody told|somebody else has",
  "anew|beside|besides them|oftener|thereof|in vain|farewell|good-bye|louder the worse",
  "(is|are|was|were|be|being|been) told( of| to| again| at once)?|told (of|in another)|tells? of|telling of",
  "wished|wishes for",
  "of (its|their|your|his) own( accord|(?=\\s*[.,;:)|]))|of ours|of theirs|none of (ours|the service's)",
  "(it|that|which) (is|are) none|is none (to|when)|none is|for none|none for none",
  "stands? (in|above|before|still|to this|beside|there|twice|in its stead)|as (it|they) stands?|where it stands",
  "mend|mends|mended|mending|doomed|furnish(es|ed|ing)?|weather|estate|oddit(y|ies)",
  "(is|are|be) away|gone (on with|by then|for everybody|quiet)|goes? on (after|behind|being|with)",
  "without a word|a word of|(its|host's own) word|says so|never says a word|the last word|has its say",
  "patience|patiently|patient with|puts? up with|sat out|brought to rest|takes its time",
  "(is|are|as) good as|at the most|at one stroke|give or take|in (this|that) very moment|all the same",
  "(held|hold|holds) (it )?against|play(s)? (no|a) part|out of turn|have their turn|has its turn|turn at a host",
  "leads? another life|led another life|new life|life of an agent|in the life|signs? of life|lives somewhere else",
  "came about|comes? about|what (came|comes) of|what there is|what is (shown|to come|wished)|has come of it",
  "(host's|their|nobody's) (affair|business)|however (many|late|long|often)|be had|to be had|at hand",
  "let in|lets? (us|everybody|nobody|this service) in|lets go of|gives? way|gave way|giving way|in its stead",
  "look(s|ed|ing)? after|sees? to it|heard from|hears? of|spoken? of|speaks of|spoke of|does no harm|do no harm",
  "the (public )?door|at the door|in the place of|hangs on|is left to it|needs? not",
  "is brought onto|brings? onto|made anew|taken up|takes up|out of account|passed over|dearer|it worked",
  "be it|whose it is|be they|that it be|lest|nor is|no more than that|albeit|whilst|ere long|hence it",
];

/** Texts that must stay as they are, because a published interface prescribes each word of them. */
const FIXED = [];

const SKIPPED =
  /package-lock\.json|client\/src\/api\.ts|^migrations\/|^docs\/examples\/|\/hosts\/|check-words\.mjs$|^STYLE\.md$|^LICENSE$/;
const CHECKED = /\.(ts|mjs|cjs|md|ya?ml|sh)$|^\.ci\/run$/;

const paths = process.argv.slice(2);
const files = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "--", ...paths], { encoding: "utf8" })
  .split("\n")
  .filter((file) => CHECKED.test(file) && !SKIPPED.test(file));

const pattern = new RegExp(`(?<![\\w-])(${FORBIDDEN.join("|")})(?![\\w-])`, "gi");
let found = 0;
for (const file of files) {
  let text;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    continue; // The file is in the index, but was deleted in the working tree.
  }
  for (const fixed of FIXED) text = text.replaceAll(fixed, (match) => " ".repeat(match.length));
  // A phrase may be broken over two lines of a comment. The file's line numbers are kept.
  const joined = text.replace(/\n\s*(\*|\/\/|#)?\s?/g, (gap) => ` ${"\u0001".repeat(gap.length - 1)}`);
  const searchable = joined.replaceAll("\u0001", "");
  const lineOf = new Map();
  let line = 1;
  for (let at = 0, shown = 0; at < text.length; at++) {
    if (joined[at] !== "\u0001") lineOf.set(shown++, line);
    if (text[at] === "\n") line++;
  }
  for (const match of searchable.matchAll(pattern)) {
    console.log(`${file}:${lineOf.get(match.index)}: ${match[0]}`);
    found++;
  }
}
console.log(found === 0 ? `No archaic wording in ${files.length} files.` : `${found} places with archaic wording.`);
process.exitCode = found === 0 ? 0 : 1;
