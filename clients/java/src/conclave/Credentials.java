// SPDX-License-Identifier: MIT
package conclave;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.CertStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.cert.CollectionCertStoreParameters;
import java.security.cert.PKIXBuilderParameters;
import java.security.cert.X509CertSelector;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.Collection;
import java.util.EnumSet;
import java.util.Set;
import javax.net.ssl.CertPathTrustManagerParameters;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** The files that prove who this is: a key, or certificates. */
record Credentials(String key, SSLContext context) {
    private static final Set<PosixFilePermission> OWN =
            EnumSet.of(PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE, PosixFilePermission.OWNER_EXECUTE);

    /** Null: connections are in plain text. */
    static Credentials read(String key, String ca, String certificate, String privateKey) throws ConclaveException {
        String file = choose(key, "CONCLAVE_KEY");
        if (file != null) {
            checkPrivate(file);
            return new Credentials(file, null);
        }
        String authority = choose(ca, "CONCLAVE_TLS_CA"), own = choose(certificate, "CONCLAVE_TLS_CERTIFICATE");
        String secret = choose(privateKey, "CONCLAVE_TLS_PRIVATE_KEY");
        if (authority == null && own == null && secret == null)
            return null;
        if (authority == null || own == null || secret == null)
            throw invalid("TLS by certificate expects tlsCa, tlsCertificate and tlsPrivateKey");
        checkPrivate(secret);
        try {
            return new Credentials(null, context(certificates(authority), certificates(own), privateKey(secret)));
        } catch (GeneralSecurityException | IOException error) {
            throw invalid(own + ": " + error.getMessage());
        }
    }

    private static String choose(String given, String variable) {
        String value = given != null ? given : System.getenv(variable);
        return value == null || value.isEmpty() ? null : value;
    }

    private static ConclaveException invalid(String text) {
        return new ConclaveException(ConclaveException.Kind.INVALID, text);
    }

    private static void checkPrivate(String path) throws ConclaveException {
        try {
            if (!OWN.containsAll(Files.getPosixFilePermissions(Path.of(path))))
                throw invalid(path + ": expected mode 0600: a key is for its owner alone");
        } catch (IOException error) {
            throw invalid(path + ": cannot be read: " + error.getMessage());
        }
    }

    private static Collection<? extends Certificate> certificates(String path) throws IOException, GeneralSecurityException {
        return CertificateFactory.getInstance("X.509")
                .generateCertificates(new ByteArrayInputStream(Files.readAllBytes(Path.of(path))));
    }

    private static PrivateKey privateKey(String path) throws IOException, GeneralSecurityException {
        String text = Files.readString(Path.of(path), StandardCharsets.US_ASCII);
        String begin = "-----BEGIN PRIVATE KEY-----";
        int from = text.indexOf(begin), to = text.indexOf("-----END PRIVATE KEY-----");
        if (from < 0 || to < from)
            throw new InvalidKeySpecException(path + ": expected PKCS#8; openssl pkcs8 -topk8 -nocrypt converts it");
        byte[] bytes = Base64.getMimeDecoder().decode(text.substring(from + begin.length(), to));
        for (String algorithm : new String[] {"EC", "RSA", "EdDSA"}) {
            try {
                return KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(bytes));
            } catch (InvalidKeySpecException error) {
                continue; // of another kind
            }
        }
        throw new InvalidKeySpecException(path + ": expected a key of EC, RSA or EdDSA");
    }

    private static SSLContext context(Collection<? extends Certificate> authorities, Collection<? extends Certificate> own,
            PrivateKey secret) throws GeneralSecurityException, IOException {
        KeyStore trusted = KeyStore.getInstance("PKCS12"), keys = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        keys.load(null, null);
        for (Certificate authority : authorities)
            trusted.setCertificateEntry("authority " + trusted.size(), authority);
        keys.setKeyEntry("own", secret, new char[0], own.toArray(Certificate[]::new));
        KeyManagerFactory mine = KeyManagerFactory.getInstance("PKIX");
        mine.init(keys, new char[0]);
        TrustManagerFactory theirs = TrustManagerFactory.getInstance("PKIX");
        String revoked = choose(null, "CONCLAVE_TLS_CRL");
        if (revoked == null) {
            theirs.init(trusted);
        } else {
            PKIXBuilderParameters parameters = new PKIXBuilderParameters(trusted, new X509CertSelector());
            parameters.setRevocationEnabled(true);
            parameters.addCertStore(CertStore.getInstance("Collection", new CollectionCertStoreParameters(CertificateFactory
                    .getInstance("X.509").generateCRLs(new ByteArrayInputStream(Files.readAllBytes(Path.of(revoked)))))));
            theirs.init(new CertPathTrustManagerParameters(parameters));
        }
        SSLContext context = SSLContext.getInstance("TLSv1.3");
        context.init(mine.getKeyManagers(), theirs.getTrustManagers(), null);
        return context;
    }
}
