// Reads a multipart body with Node's own parser, which is independent of the writer under test.

export function parseForm(contentType: string, body: Uint8Array): Promise<FormData> {
  return new Response(new Uint8Array(body), { headers: { 'content-type': contentType } }).formData()
}
