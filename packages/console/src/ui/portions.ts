import { useEffect, useRef, useState } from "preact/hooks";

/**
 * Draws a long list in portions of `size` items as it is scrolled, so that thousands of items open at once. `end` is the element
 * after the last drawn item, as long as there are more.
 */
export function usePortions<End extends HTMLElement>(total: number, size: number) {
  const [shown, setShown] = useState(size);
  const end = useRef<End>(null);
  const hasMore = total > shown;
  useEffect(() => {
    if (!hasMore || !end.current) return;
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && setShown((count) => count + size), {
      rootMargin: "600px",
    });
    observer.observe(end.current);
    return () => observer.disconnect();
  }, [hasMore, shown]);
  return { shown, hasMore, end };
}
