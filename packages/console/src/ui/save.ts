/** Saves bytes as a file. They were read with the person's token, which a link would not send. */
export function saveAs(name: string, bytes: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(bytes);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
