/** Moves cards between columns with a mouse, a pen or, after a long press, a finger. */
import { type Status, STATUSES } from "../types.ts";

const START_DISTANCE_PX = 6;
const LONG_PRESS_MS = 280;
const EDGE_PX = 56;
const SCROLL_PX = 14;

interface Drag {
  card: HTMLElement;
  ghost: HTMLElement;
  left: number;
  top: number;
  target: HTMLElement | null;
}

/**
 * Enables dragging and returns a function that disables it. `drop` is called with the task and the column where it was dropped.
 */
export function enableDragging(container: HTMLElement, drop: (task_id: string, status: Status) => void): () => void {
  let pressed: { card: HTMLElement; pointer: number; x: number; y: number; timer?: ReturnType<typeof setTimeout> } | null = null;
  let drag: Drag | null = null;
  let frame = 0;
  let point = { x: 0, y: 0 };

  function begin(): void {
    const { card, x, y } = pressed!;
    const box = card.getBoundingClientRect();
    const ghost = card.cloneNode(true) as HTMLElement;
    ghost.classList.add("ghost");
    ghost.setAttribute("aria-hidden", "true");
    ghost.style.width = `${box.width}px`;
    document.body.append(ghost);
    card.classList.add("dragged");
    document.documentElement.classList.add("dragging");
    drag = { card, ghost, left: box.left - x, top: box.top - y, target: null };
    draw();
  }

  function draw(): void {
    frame = 0;
    if (!drag) return;
    const { x, y } = point;
    drag.ghost.style.transform = `translate(${x + drag.left}px, ${y + drag.top}px) rotate(1.5deg)`;
    const target = document.elementFromPoint(x, y)?.closest<HTMLElement>("[data-status]") ?? null;
    if (target !== drag.target) {
      drag.target?.classList.remove("target");
      target?.classList.add("target");
      drag.target = target;
    }
    const box = container.getBoundingClientRect();
    const step = x > box.right - EDGE_PX ? SCROLL_PX : x < box.left + EDGE_PX ? -SCROLL_PX : 0;
    if (step === 0) return;
    container.scrollLeft += step;
    drawSoon();
  }

  const drawSoon = () => (frame ||= requestAnimationFrame(draw));

  function end(isDropped: boolean): void {
    clearTimeout(pressed?.timer);
    pressed = null;
    if (!drag) return;
    const { card, ghost, target } = drag;
    drag = null;
    ghost.remove();
    target?.classList.remove("target");
    card.classList.remove("dragged");
    document.documentElement.classList.remove("dragging");
    // The click that follows a drop must not open the card.
    addEventListener("click", suppress, { capture: true, once: true });
    setTimeout(() => removeEventListener("click", suppress, { capture: true }), 0);
    const status = STATUSES.find((name) => name === target?.dataset["status"]);
    if (isDropped && status) drop(card.dataset["task"]!, status);
  }

  const onDown = (event: PointerEvent) => {
    const card = (event.target as Element).closest<HTMLElement>("[data-task]");
    if (!card || event.button !== 0 || !event.isPrimary || container.dataset["readonly"] !== undefined) return;
    point = { x: event.clientX, y: event.clientY };
    pressed = { card, pointer: event.pointerId, ...point };
    if (event.pointerType === "touch") pressed.timer = setTimeout(begin, LONG_PRESS_MS);
  };
  const onMove = (event: PointerEvent) => {
    if (!pressed || event.pointerId !== pressed.pointer) return;
    point = { x: event.clientX, y: event.clientY };
    if (drag) return void drawSoon();
    if (Math.hypot(point.x - pressed.x, point.y - pressed.y) < START_DISTANCE_PX) return;
    // A finger that moves before the long press is over scrolls the page instead.
    if (event.pointerType === "touch") end(false);
    else begin();
  };
  const onUp = (event: PointerEvent) => event.pointerId === pressed?.pointer && end(true);
  const onCancel = () => end(false);
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !drag) return;
    event.stopPropagation();
    end(false);
  };
  // The page must not scroll while a finger drags a card.
  const onTouchMove = (event: TouchEvent) => drag && event.preventDefault();
  const onContextMenu = (event: Event) => drag && event.preventDefault();

  const stop = new AbortController();
  const { signal } = stop;
  container.addEventListener("pointerdown", onDown, { signal });
  container.addEventListener("touchmove", onTouchMove, { signal, passive: false });
  container.addEventListener("contextmenu", onContextMenu, { signal });
  addEventListener("pointermove", onMove, { signal });
  addEventListener("pointerup", onUp, { signal });
  addEventListener("pointercancel", onCancel, { signal });
  addEventListener("blur", onCancel, { signal });
  addEventListener("keydown", onKey, { signal, capture: true });
  return () => {
    end(false);
    cancelAnimationFrame(frame);
    stop.abort();
  };
}

function suppress(event: Event): void {
  event.preventDefault();
  event.stopPropagation();
}
