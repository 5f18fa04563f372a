import type { ComponentProps } from "preact";
import { useState } from "preact/hooks";
import { Form } from "./form.tsx";
import { Dialog } from "./parts.tsx";

interface FormButtonProps extends ComponentProps<typeof Form> {
  /** The text of the button and the title of the window. */
  title: string;
  /** Distinguishes the button for screen readers in a list where several buttons have the same text. */
  about?: string;
  /** The title of the window, if it differs from the text and the name of the button. */
  heading?: string;
  isPrimary?: boolean;
}

/** Shows a button that opens a form in a modal window. The window closes when the service has accepted the form. */
export function FormButton({ title, about, heading, isPrimary, onDone, ...form }: FormButtonProps) {
  const [isOpen, setOpen] = useState(false);
  const close = () => setOpen(false);
  const done = () => {
    onDone?.();
    close();
  };
  return (
    <>
      <button type="button" class={isPrimary ? "primary" : ""} aria-label={about} onClick={() => setOpen(true)}>
        {title}
      </button>
      {isOpen && (
        <Dialog title={heading ?? about ?? title} onClose={close}>
          <Form {...form} focusFirst onDone={done} />
        </Dialog>
      )}
    </>
  );
}
