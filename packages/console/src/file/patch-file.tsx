import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Comment } from "../types.ts";
import { Form } from "../ui/form.tsx";
import { toPlain } from "../ui/plain.ts";
import { textOf } from "../ui/values.ts";
import { changedPart, findCounterparts, type PatchFile, type PatchLine } from "./diff.ts";
import { LineComment } from "./line-comment.tsx";

type Side = "old" | "new";

interface Props {
  patch: PatchFile;
  isReviewed: boolean;
  /** Stores whether the file is reviewed; null until it is known which files are. */
  onReviewed: ((isReviewed: boolean) => void) | null;
  comments: readonly Comment[];
  /** The prefix of the names under which drafts of comments are stored. */
  draft: string;
  onComment: ((side: Side, line: number, content: string) => Promise<unknown>) | null;
}

/** Files with more lines than this are folded at first. */
const FOLD_LINES = 600;
/** Number of lines that are drawn together when they are about to scroll into view. */
const BLOCK = 20;
const BLOCKS_PER_FRAME = 2;
const LINE_PX = 20;
/** The changed part of a line is highlighted only if the common part is at least this share of the part that differs. */
const MIN_COMMON = 1 / 3;

/** Shows one file of a diff: its lines, with comments below the lines that they are about. */
export function PatchFileView({ patch, isReviewed, onReviewed, comments, draft, onComment }: Props) {
  const [isOpen, setOpen] = useState(!isReviewed && patch.lines.length <= FOLD_LINES);
  const blocks = Array.from({ length: Math.ceil(patch.lines.length / BLOCK) }, (_, index) => index * BLOCK);
  const counterparts = useMemo(() => findCounterparts(patch.lines), [patch]);
  const commentsByPlace = useMemo(() => Map.groupBy(comments, ({ anchor }) => placeOf(anchor)), [comments]);
  const hasComments = comments.length > 0;
  const places = useMemo(() => new Set(hasComments ? patch.lines.flatMap(placesOf) : []), [patch, hasComments]);
  const watch = useMemo(createWatcher, []);
  const review = (isDone: boolean) => {
    onReviewed?.(isDone);
    setOpen(!isDone);
  };
  return (
    <section class="patch">
      <header class="patch-head">
        <button type="button" class="plain patch-name" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <span aria-hidden="true">{isOpen ? "▾" : "▸"}</span> <span dir="auto">{toPlain(patch.path)}</span>
        </button>
        <span class="muted">
          +{patch.added} −{patch.removed}
        </span>
        {comments.length > 0 && (
          <span class="badge accent">{comments.length === 1 ? "1 comment" : `${comments.length} comments`}</span>
        )}
        <label class="check">
          <input
            type="checkbox"
            aria-label={`Reviewed ${patch.path}`}
            checked={isReviewed}
            disabled={onReviewed === null}
            onChange={(event) => review(event.currentTarget.checked)}
          />
          Reviewed
        </label>
      </header>
      {patch.notes.length > 0 && <p class="muted patch-notes">{toPlain(patch.notes.join("; "))}</p>}
      {comments.map(
        (comment) =>
          !places.has(placeOf(comment.anchor)) && (
            <LineComment key={comment.id} comment={comment} about={comment.anchor?.line ? `line ${comment.anchor.line}` : ""} />
          ),
      )}
      {isOpen && (
        <div class="patch-lines" onKeyDown={moveFocus} role="group" aria-label={`Lines of ${patch.path}`} tabIndex={0}>
          {blocks.map((start) => (
            <Block
              key={start}
              start={start}
              watch={watch}
              patch={patch}
              counterparts={counterparts}
              commentsByPlace={commentsByPlace}
              draft={draft}
              onComment={onComment}
            />
          ))}
        </div>
      )}
    </section>
  );
}

/** The arrow keys move from line to line; only the first line of a block is a tab stop. */
function moveFocus(event: KeyboardEvent & { currentTarget: HTMLElement }): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const target = event.target as HTMLElement;
  if (!step || /^(INPUT|TEXTAREA)$/.test(target.tagName)) return;
  // The numbers are disabled for people who may not comment. Their arrow keys scroll.
  const numbers = [...event.currentTarget.querySelectorAll<HTMLElement>(".patch-number:enabled")];
  const next = numbers[numbers.indexOf(target) + step];
  if (!next) return;
  event.preventDefault();
  next.focus();
}

type Watch = (element: Element, onChange: (entry: IntersectionObserverEntry) => void) => () => void;

/**
 * Returns a function that reports when an element comes near the visible part of the file or leaves it. In each frame, it reports
 * only a few of the elements that came near, so that fast scrolling draws few lines at a time.
 */
function createWatcher(): Watch {
  const handlers = new Map<Element, (entry: IntersectionObserverEntry) => void>();
  /** The elements that came near and were not reported yet. */
  const waiting = new Map<Element, IntersectionObserverEntry>();
  let frame: number | undefined;
  // One observer for all elements, because hundreds of observers are slow to create.
  let observer: IntersectionObserver | undefined;
  const reportNext = () => {
    frame = undefined;
    for (const [element, entry] of [...waiting].slice(0, BLOCKS_PER_FRAME)) {
      waiting.delete(element);
      handlers.get(element)?.(entry);
    }
    if (waiting.size > 0) frame = requestAnimationFrame(reportNext);
  };
  const report = (entries: readonly IntersectionObserverEntry[]) => {
    for (const entry of entries)
      if (entry.isIntersecting) waiting.set(entry.target, entry);
      else {
        waiting.delete(entry.target);
        handlers.get(entry.target)?.(entry);
      }
    frame ??= requestAnimationFrame(reportNext);
  };
  return (element, onChange) => {
    observer ??= new IntersectionObserver(report, { root: element.closest(".file-view"), rootMargin: "600px" });
    handlers.set(element, onChange);
    observer.observe(element);
    return () => {
      observer!.unobserve(element);
      handlers.delete(element);
      waiting.delete(element);
    };
  };
}

interface BlockProps extends Pick<Props, "patch" | "draft" | "onComment"> {
  start: number;
  watch: Watch;
  counterparts: ReadonlyMap<PatchLine, PatchLine>;
  commentsByPlace: ReadonlyMap<string, readonly Comment[]>;
}

/**
 * Shows some lines of a file. They are drawn just before they scroll into view and removed when they are far from it, so that a
 * diff of 10,000 lines stays quick. A block in which somebody is writing a comment is not removed.
 */
function Block({ patch, start, watch, counterparts, commentsByPlace, draft, onComment }: BlockProps) {
  const place = useRef<HTMLDivElement>(null);
  const [isNear, setNear] = useState(false);
  const [height, setHeight] = useState(Math.min(BLOCK, patch.lines.length - start) * LINE_PX);
  useEffect(() => {
    const block = place.current!;
    return watch(block, ({ isIntersecting, boundingClientRect }) => {
      if (block.querySelector("form") || block.contains(document.activeElement)) return;
      if (!isIntersecting && boundingClientRect.height > 0) setHeight(boundingClientRect.height);
      setNear(isIntersecting);
    });
  }, []);
  if (!isNear) return <div ref={place} style={{ height: `${height}px` }} />;
  return (
    <div ref={place}>
      {patch.lines.slice(start, start + BLOCK).map((line, index) => (
        <Line
          key={index}
          line={line}
          hunk={patch.hunks.get(start + index) ?? null}
          other={counterparts.get(line)?.text ?? null}
          isStop={index === 0}
          comments={placesOf(line).flatMap((place) => commentsByPlace.get(place) ?? [])}
          draft={draft}
          onComment={onComment}
        />
      ))}
    </div>
  );
}

const sideOf = ({ sign }: PatchLine): Side => (sign === "-" ? "old" : "new");
const numberOf = (line: PatchLine): number => (line.sign === "-" ? line.old : line.new) ?? 0;

/** The place of a comment in its file. An unchanged line has a number on each side. */
const placeOf = (anchor: Comment["anchor"]): string => (anchor?.line ? `${anchor.side ?? "new"} ${anchor.line}` : "");
const placesOf = (line: PatchLine): string[] => [`old ${line.old}`, `new ${line.new}`];

interface LineProps extends Pick<BlockProps, "draft" | "onComment"> {
  comments: readonly Comment[];
  line: PatchLine;
  hunk: string | null;
  other: string | null;
  isStop: boolean;
}

const CLASSES = { "+": "patch-added", "-": "patch-removed", " ": "" };
const NAMES = { "+": "added", "-": "removed", " ": "unchanged" };

function Line({ line, hunk, other, isStop, comments, draft, onComment }: LineProps) {
  const [isWriting, setWriting] = useState(false);
  const [side, number] = [sideOf(line), numberOf(line)];
  return (
    <>
      {hunk && <div class="patch-hunk">{toPlain(hunk)}</div>}
      <div class={`patch-line ${CLASSES[line.sign]}`}>
        <button
          type="button"
          class="plain patch-number"
          tabIndex={isStop ? 0 : -1}
          disabled={onComment === null}
          aria-label={`Comment on line ${number}, ${NAMES[line.sign]}`}
          onClick={() => setWriting(!isWriting)}
        >
          {number}
        </button>
        <span class="patch-sign" aria-hidden="true">
          {line.sign}
        </span>
        <code>
          <Words text={line.text} other={other} />
        </code>
      </div>
      {comments.map((comment) => (
        <LineComment key={comment.id} comment={comment} />
      ))}
      {isWriting && onComment && (
        <div class="patch-comment">
          <Form
            name={`${draft}.${side}.${number}`}
            fields={[{ name: "content", label: `Comment on line ${number}`, kind: "long", rows: 2 }]}
            start={{ content: "" }}
            label="Comment"
            submit={(typed) => onComment(side, number, textOf(typed, "content"))}
            onDone={() => setWriting(false)}
          />
        </div>
      )}
    </>
  );
}

/** A changed line, in which the part that differs from the line it replaces is marked. */
function Words({ text, other }: { text: string; other: string | null }) {
  if (other === null) return <>{toPlain(text)}</>;
  const [start, end] = changedPart(text, other);
  // If the lines have little in common, nearly all of the text would be highlighted, which helps nobody.
  const common = text.slice(0, start).trim().length + text.slice(end).trim().length;
  if (common < (end - start) * MIN_COMMON) return <>{toPlain(text)}</>;
  return (
    <>
      {toPlain(text.slice(0, start))}
      <mark>{toPlain(text.slice(start, end))}</mark>
      {toPlain(text.slice(end))}
    </>
  );
}
