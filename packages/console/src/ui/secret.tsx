import { Snippet } from "./parts.tsx";

interface SecretProps {
  label: string;
  /** The secret; null if the response repeats an earlier one, because the service reveals a secret only once. */
  text: string | null;
  onDone: () => void;
}

/** Shows a secret that the service has just created. Only the page has it, until the person says that it is stored. */
export function Secret({ label, text, onDone }: SecretProps) {
  return (
    <div class="card-panel" role="status">
      {text === null ? (
        <p class="danger-text">It was created, but the answer did not arrive. Rotate it to get another one.</p>
      ) : (
        <>
          <p>Store it now: it is not shown again.</p>
          <Snippet label={label} text={text} />
        </>
      )}
      <div class="form-actions">
        <button type="button" onClick={onDone}>
          Done
        </button>
      </div>
    </div>
  );
}
