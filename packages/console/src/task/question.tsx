import { useState } from "preact/hooks";
import { useDraft } from "../draft.ts";
import type { Approval } from "../types.ts";

export interface Answer {
  option: string | null;
  text: string | null;
}

interface Question {
  options: string[];
  allow_text: boolean;
  answer: string;
}

/** Returns the question of an agent, or null for other approvals. The agent wrote it, so every field is checked. */
export function questionOf({ action_type, payload }: Pick<Approval, "action_type" | "payload">): Question | null {
  if (action_type !== "question") return null;
  const { options, allow_text, answer } = payload ?? {};
  const listed = Array.isArray(options) ? options.filter((option) => typeof option === "string") : [];
  const { option, text } = (answer ?? {}) as Record<string, unknown>;
  const answered = [option, text].filter((part) => typeof part === "string").join(": ");
  return { options: listed, allow_text: listed.length === 0 || allow_text === true, answer: answered };
}

/** Shows the form in which a person answers a question: options to choose from, and a text if the question allows one. */
export function QuestionForm({
  id,
  question,
  onAnswer,
}: {
  id: string;
  question: Question;
  /** Sends the answer, and returns whether it was stored. */
  onAnswer: (answer: Answer | null) => Promise<boolean>;
}) {
  const [option, setOption] = useState<string | null>(null);
  const [text, setText] = useDraft(`answer.${id}`);
  const [isSending, setSending] = useState(false);
  const send = async (answer: Answer | null) => {
    if (isSending) return;
    setSending(true);
    if (await onAnswer(answer)) setText("");
    setSending(false);
  };
  const written = question.allow_text && text.trim() !== "" ? text.trim() : null;
  return (
    <form
      class="question"
      onSubmit={(event) => {
        event.preventDefault();
        void send({ option, text: written });
      }}
    >
      {question.options.length > 0 && (
        <fieldset>
          <legend>Answer</legend>
          {question.options.map((name) => (
            <label key={name} dir="auto">
              <input type="radio" name={`answer-${id}`} checked={option === name} onChange={() => setOption(name)} /> {name}
            </label>
          ))}
        </fieldset>
      )}
      {question.allow_text && (
        <label>
          In your own words
          <textarea rows={2} dir="auto" value={text} onInput={({ currentTarget }) => setText(currentTarget.value)} />
        </label>
      )}
      <div class="actions">
        <button type="submit" class="primary" disabled={isSending || (option === null && written === null)}>
          Answer
        </button>
        <button type="button" disabled={isSending} onClick={() => send(null)}>
          No answer
        </button>
      </div>
    </form>
  );
}
