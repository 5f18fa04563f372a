export type Option = readonly [value: string, label: string];

export const optionOf = ({ id, name }: { id: string; name: string }): Option => [id, name];

interface SelectProps {
  /** The name for screen readers. It is missing if a label refers to `id`. */
  label?: string;
  id?: string;
  "aria-describedby"?: string;
  "aria-invalid"?: true;
  autofocus?: boolean;
  disabled?: boolean;
  value: string;
  options: readonly Option[];
  onChoose: (value: string, select: HTMLSelectElement) => unknown;
}

export function Select({ label, options, onChoose, ...attributes }: SelectProps) {
  return (
    <select {...attributes} aria-label={label} onChange={({ currentTarget }) => onChoose(currentTarget.value, currentTarget)}>
      {options.map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  );
}
