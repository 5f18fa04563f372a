/** Saves bytes as a file on the person's device. A plain download link would not work, because it does not send the token. */
export function saveAs(name: string, bytes: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(bytes);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
