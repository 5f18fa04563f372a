import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Loading, Problem } from "./parts.tsx";

/** Makes a component whose script is loaded when it is first shown, so that the board needs less script to start. */
export function lazy<Props extends object>(what: string, load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  let Loaded: ComponentType<Props> | undefined;
  return function Lazy(props: Props) {
    const [isFailed, setFailed] = useState(false);
    const [, redraw] = useState(0);
    useEffect(() => {
      if (Loaded) return;
      load().then(
        (component) => {
          Loaded = component;
          redraw(1);
        },
        () => setFailed(true),
      );
    }, []);
    if (Loaded) return <Loaded {...props} />;
    // Only a reload helps: a browser does not request a failed script again, and a new release has scripts with other names.
    if (isFailed) return <Problem error={`The script of ${what} was not loaded.`} retry={() => location.reload()} />;
    return <Loading what={what} />;
  };
}
