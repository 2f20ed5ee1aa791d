// Reads a multipart body with the platform's own parser, as a second opinion on ours.

export function parseForm(contentType: string, body: Uint8Array): Promise<FormData> {
  return new Response(new Uint8Array(body), { headers: { 'content-type': contentType } }).formData()
}
