//! The names in a client's certificate, as `REQUIRE SUBJECT` and `REQUIRE ISSUER` spell them: what OpenSSL's
//! `X509_NAME_oneline` prints, `/C=SE/ST=Stockholm/O=Example/CN=app`.
//!
//! The TLS library has verified the certificate; here its DER is only walked to the two names (RFC 5280, section 4.1).
//! Bytes that are not what the walk expects give no names, and an account that asks for some stays closed.

use sql_api::login::Certificate;

const INTEGER: u8 = 0x02;
const OBJECT_IDENTIFIER: u8 = 0x06;
const GENERAL_STRING: u8 = 0x1b;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
/// The version, which the first one leaves out.
const EXPLICIT_0: u8 = 0xa0;

/// A tag and what it holds.
struct Element<'a> {
    tag: u8,
    content: &'a [u8],
}

/// Reads one element after the other.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    fn next(&mut self) -> Option<Element<'a>> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, mut rest) = rest.split_first()?;
        let len = match first {
            0..=0x7f => usize::from(first),
            // At most four bytes of length: a certificate is small.
            0x81..=0x84 => {
                let (digits, after) = rest.split_at_checked(usize::from(first & 0x7f))?;
                rest = after;
                digits.iter().fold(0, |len, digit| len << 8 | usize::from(*digit))
            }
            _ => return None,
        };
        let (content, after) = rest.split_at_checked(len)?;
        self.0 = after;
        Some(Element { tag, content })
    }

    fn next_of(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.next()
            .filter(|element| element.tag == tag)
            .map(|element| element.content)
    }
}

/// Subject and issuer of a certificate in DER.
pub fn names(der: &[u8]) -> Option<Certificate> {
    let certificate = Der(der).next_of(SEQUENCE)?;
    let mut fields = Der(Der(certificate).next_of(SEQUENCE)?);
    match fields.next()? {
        Element { tag: EXPLICIT_0, .. } => drop(fields.next_of(INTEGER)?),
        Element { tag: INTEGER, .. } => {}
        _ => return None,
    }
    let _signature_algorithm = fields.next_of(SEQUENCE)?;
    let issuer = one_line(fields.next_of(SEQUENCE)?)?;
    let _validity = fields.next_of(SEQUENCE)?;
    let subject = one_line(fields.next_of(SEQUENCE)?)?;
    Some(Certificate { subject, issuer })
}

fn one_line(name: &[u8]) -> Option<String> {
    let mut line = String::new();
    let mut sets = Der(name);
    while !sets.0.is_empty() {
        let mut attributes = Der(sets.next_of(SET)?);
        while !attributes.0.is_empty() {
            let mut attribute = Der(attributes.next_of(SEQUENCE)?);
            line.push('/');
            line.push_str(&short_name(attribute.next_of(OBJECT_IDENTIFIER)?)?);
            line.push('=');
            push_value(&mut line, &attribute.next()?);
        }
    }
    Some(line)
}

/// Printable ASCII as it is, every other byte as `\xC3`.
fn push_value(line: &mut String, value: &Element<'_>) {
    let bytes = value.content;
    // OpenSSL takes such a string for one of four bytes per character, and leaves out positions that are zero throughout.
    let is_wide = value.tag == GENERAL_STRING && bytes.len().is_multiple_of(4);
    let shown =
        |place: usize| !is_wide || place % 4 == 3 || bytes.iter().skip(place % 4).step_by(4).any(|byte| *byte != 0);
    for (_, byte) in bytes.iter().enumerate().filter(|(place, _)| shown(*place)) {
        match byte {
            b' '..=b'~' => line.push(char::from(*byte)),
            byte => line.push_str(&format!("\\x{byte:02X}")),
        }
    }
}

/// OpenSSL's short name of an attribute type; its number in dots where it has none.
fn short_name(oid: &[u8]) -> Option<String> {
    let known: &[(&[u8], &str)] = &[
        (&[0x55, 4, 3], "CN"),
        (&[0x55, 4, 4], "SN"),
        (&[0x55, 4, 5], "serialNumber"),
        (&[0x55, 4, 6], "C"),
        (&[0x55, 4, 7], "L"),
        (&[0x55, 4, 8], "ST"),
        (&[0x55, 4, 9], "street"),
        (&[0x55, 4, 10], "O"),
        (&[0x55, 4, 11], "OU"),
        (&[0x55, 4, 12], "title"),
        (&[0x55, 4, 13], "description"),
        (&[0x55, 4, 15], "businessCategory"),
        (&[0x55, 4, 16], "postalAddress"),
        (&[0x55, 4, 17], "postalCode"),
        (&[0x55, 4, 20], "telephoneNumber"),
        (&[0x55, 4, 41], "name"),
        (&[0x55, 4, 42], "GN"),
        (&[0x55, 4, 43], "initials"),
        (&[0x55, 4, 44], "generationQualifier"),
        (&[0x55, 4, 45], "x500UniqueIdentifier"),
        (&[0x55, 4, 46], "dnQualifier"),
        (&[0x55, 4, 65], "pseudonym"),
        (&[0x55, 4, 97], "organizationIdentifier"),
        (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 1], "emailAddress"),
        (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 2], "unstructuredName"),
        (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 8], "unstructuredAddress"),
        (&[0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 1], "UID"),
        (&[0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 25], "DC"),
    ];
    match known.iter().find(|(known, _)| *known == oid) {
        Some((_, name)) => Some((*name).to_owned()),
        None => dotted(oid),
    }
}

/// The first two numbers share one.
fn dotted(oid: &[u8]) -> Option<String> {
    let mut numbers = Vec::new();
    let mut number: u64 = 0;
    for byte in oid {
        number = number.checked_mul(128)? | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            numbers.push(number);
            number = 0;
        }
    }
    let first = *numbers.first()?;
    let arc = (first / 40).min(2);
    let mut text = format!("{arc}.{}", first - 40 * arc);
    for number in &numbers[1..] {
        text.push_str(&format!(".{number}"));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, DistinguishedName, DnType, DnValue, KeyPair};

    fn certificate(subject: &[(DnType, DnValue)]) -> Vec<u8> {
        let mut name = DistinguishedName::new();
        subject
            .iter()
            .for_each(|(kind, value)| name.push(kind.clone(), value.clone()));
        let mut params = CertificateParams::default();
        params.distinguished_name = name;
        let key = KeyPair::generate().unwrap();
        params.self_signed(&key).unwrap().der().to_vec()
    }

    #[test]
    fn names_are_written_as_openssl_writes_them() {
        let der = certificate(&[
            (DnType::CountryName, "SE".into()),
            (DnType::OrganizationName, "A, B / C=D".into()),
            (DnType::CustomDnType(vec![2, 5, 4, 5]), "7".into()),
            (DnType::CustomDnType(vec![1, 3, 6, 1, 4, 1, 99_999, 1]), "x".into()),
            (DnType::CommonName, DnValue::Utf8String("Zoë".into())),
        ]);
        let expected = r"/C=SE/O=A, B / C=D/serialNumber=7/1.3.6.1.4.1.99999.1=x/CN=Zo\xC3\xAB";
        let names = names(&der).unwrap();
        assert_eq!((names.subject.as_str(), names.issuer.as_str()), (expected, expected));
    }

    #[test]
    fn cut_and_changed_certificates_have_no_names_or_others_and_nothing_worse() {
        let der = certificate(&[(DnType::CommonName, "app".into())]);
        for len in 0..200 {
            assert!(names(&der[..len]).is_none());
        }
        for place in 0..der.len() {
            for bit in 0..8 {
                let mut changed = der.clone();
                changed[place] ^= 1 << bit;
                let _ = names(&changed);
            }
        }
    }
}
