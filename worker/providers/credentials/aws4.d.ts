// What is used of the package `aws4`, which brings no types.

declare module 'aws4' {
  interface Aws4 {
    /** Adds the headers of Signature Version 4. The host and all given headers are signed. */
    sign(
      request: {
        method: string
        host: string
        /** Path and query as they are sent. */
        path: string
        headers: Record<string, string>
        service: string
        region: string
      },
      credentials: { accessKeyId: string; secretAccessKey: string; sessionToken?: string }
    ): { headers: Record<string, string | number> }
  }

  const aws4: Aws4
  export default aws4
}
