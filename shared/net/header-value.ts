// What the value of a header can be (RFC 9110, section 5.5).

const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/** Whether HTTP can carry this text as a header: no line break, no NUL, no character above one byte. */
export function isHeaderValue(text: string): boolean {
  return HEADER_VALUE.test(text)
}
