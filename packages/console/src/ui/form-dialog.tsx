import type { ComponentProps } from "preact";
import { useState } from "preact/hooks";
import { Form } from "./form.tsx";
import { Dialog } from "./parts.tsx";

interface FormDialogProps extends ComponentProps<typeof Form> {
  title: string;
  onClose: () => void;
}

/** Shows a form in a modal window, which closes when the service has accepted the form. */
export function FormDialog({ title, onClose, onDone, ...form }: FormDialogProps) {
  const done = () => {
    onDone?.();
    onClose();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <Form {...form} focusFirst onDone={done} />
    </Dialog>
  );
}

interface OpenerProps extends ComponentProps<typeof Form> {
  /** The text of the button and the title of the window. */
  title: string;
  /** Distinguishes the button for screen readers in a list where several buttons have the same text. */
  about?: string;
  isPrimary?: boolean;
}

/** Shows a button that opens a form. */
export function FormButton({ title, about, isPrimary, ...form }: OpenerProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" class={isPrimary ? "primary" : ""} aria-label={about} onClick={() => setOpen(true)}>
        {title}
      </button>
      {isOpen && <FormDialog {...form} title={about ?? title} onClose={() => setOpen(false)} />}
    </>
  );
}
